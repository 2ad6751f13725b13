import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { erasedMark } from '@countersign/contracts';
import type { RecordedEvent } from '@countersign/contracts';
import { toolCallRules } from '@countersign/domain';
import type { ToolCall } from '@countersign/domain';
import type { CallRow } from '../call-row.js';
import { foldCall } from '../evolve.js';
import { toToolCallView } from '../views.js';

/** A log that a process of an earlier version wrote. */
export interface GoldenLog {
  readonly events: readonly RecordedEvent[];
  readonly calls: readonly CallRow[];
  /** The only call of a run; of a batch the n-th one. */
  readonly callOf: (run: string, nth?: number) => CallRow;
  readonly shownOf: (run: string, nth?: number) => ReturnType<typeof toToolCallView>;
  /** The calls that a worker could claim now, by their runs, each with the arguments that its view shows. */
  readonly claimable: () => readonly (readonly [run: string, args: unknown])[];
}

export function readGoldenLog(name: string): GoldenLog {
  const events = readFileSync(join(import.meta.dirname, '..', 'golden', `${name}.ndjson`), 'utf8')
    .trim()
    .split('\n')
    .map((line) => asErased(JSON.parse(line) as RecordedEvent));
  const calls = [...Map.groupBy(events, ({ stream }) => stream)]
    .filter(([stream]) => stream.startsWith('toolCall-'))
    .map(([, own]) => foldCall(own))
    .filter((row) => row !== undefined);
  const callOf = (run: string, nth = 0): CallRow => {
    const row = calls.filter(({ request }) => request.runId === `run-${run}`)[nth];
    if (row === undefined) throw new Error(`the log has no call of ${run}`);
    return row;
  };
  return {
    ...{ events, calls, callOf },
    shownOf: (run, nth) => toToolCallView(callOf(run, nth), 'whole'),
    claimable: () =>
      calls
        .filter((row) => isClaimable(row, endOf(events)))
        .map((row) => [row.request.runId.replace('run-', ''), toToolCallView(row, 'whole').arguments]),
  };
}

/** As a store reads an event whose sealed values have no key any more. */
function asErased({ metadata: { sealed, ...metadata }, ...event }: RecordedEvent): RecordedEvent {
  if (sealed === undefined) return { ...event, metadata };
  const data = structuredClone(event.data) as unknown as Members;
  for (const pointer of sealed.pointers) {
    const path = pointer.slice(1).split('/');
    const holder = path.slice(0, -1).reduce((at, name) => at[name] as Members, data);
    const last = path.at(-1) ?? '';
    holder[last] = last === 'salt' ? null : erasedMark;
  }
  const erased = sealed.pointers.filter((pointer) => !pointer.endsWith('/salt'));
  return { ...event, data: data as unknown as RecordedEvent['data'], metadata: { ...metadata, erased } };
}

type Members = Record<string, unknown>;

/** When the last event of a log was recorded. */
const endOf = (events: readonly RecordedEvent[]): number => Date.parse(events.at(-1)?.recordedAt ?? '');

/** Whether a worker could claim the call at a time, with the arguments that the view shows. */
function isClaimable(row: CallRow, at: number): boolean {
  const { actionDigest } = toToolCallView(row, 'whole');
  const { callId } = row.request;
  const who = { callId, resolverId: 'r', claimedBy: 'worker', leaseMs: 60_000, claimId: 'c', idempotencyKey: callId };
  // The fold passes the request on as it is; the batch of each member is known to have begun.
  const call = row as unknown as ToolCall;
  return (
    toolCallRules.claimExecution({ type: 'ClaimExecution', at, actionDigest, batch: 'begun', ...who }, call).status ===
    'accepted'
  );
}
