import type { LogEventView } from '@countersign/contracts';
import { firstPage, readLogPage } from '../api/audit.js';
import { listed } from './search.js';

/** The limit of the oversight figures: 2 s and 10 ms for each character of the arguments, at most 60 s. */
const [baseMs, perCharacterMs, maxMs] = [2_000, 10, 60_000];

interface Asked {
  characters: number;
  /** When people were asked, each time. */
  readonly atMs: number[];
}

/** Returns the approvals among events that came faster than the arguments can be read. */
export async function fastApprovals(
  approvals: readonly LogEventView[],
  signal: AbortSignal,
): Promise<readonly LogEventView[]> {
  const asked = await askedAbout(new Set(approvals.flatMap(({ callId }) => callId ?? [])), signal);
  return approvals.filter(({ callId, recordedAt }) => {
    const call = asked.get(callId ?? '');
    const respondedMs = Date.parse(recordedAt);
    const askedMs = call?.atMs.findLast((ms) => ms <= respondedMs);
    if (call === undefined || askedMs === undefined) return false;
    return respondedMs - askedMs < Math.min(maxMs, baseMs + perCharacterMs * call.characters);
  });
}

async function askedAbout(callIds: ReadonlySet<string>, signal: AbortSignal): Promise<ReadonlyMap<string, Asked>> {
  const calls = new Map<string, Asked>();
  if (callIds.size === 0) return calls;
  const callId = [...callIds].map(listed).join(',');
  const query = { types: 'ToolCallRequested,ApprovalRequested', callId, limit: '1000' };
  for (let next: string | undefined = firstPage(new URLSearchParams(query)); next !== undefined;) {
    const page: Awaited<ReturnType<typeof readLogPage>> = await readLogPage(next, signal);
    for (const event of page.events) note(calls, event);
    next = page.next;
  }
  return calls;
}

function note(calls: Map<string, Asked>, { type, callId, recordedAt, data }: LogEventView): void {
  if (callId === null) return;
  const call = calls.get(callId) ?? { characters: 0, atMs: [] };
  if (type === 'ToolCallRequested') call.characters = JSON.stringify(data?.['arguments'] ?? null).length;
  else call.atMs.push(Date.parse(recordedAt));
  calls.set(callId, call);
}
