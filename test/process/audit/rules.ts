import type { ToolCallState } from '@countersign/contracts';
import { digestOf } from './digest.js';
import type { CallEvent, Entry } from './log.js';
import type { Standing } from './standing.js';

/** One call with all its recorded events. */
export interface CallHistory {
  readonly callId: string;
  readonly events: readonly CallEvent[];
  /** After each event. */
  readonly standings: readonly Standing[];
}

export type Histories = ReadonlyMap<string, CallHistory>;

/** Positions increase, revisions have no gap, no event occurs twice, each stream is of one call. */
export function logComplaints(entries: readonly Entry[]): readonly string[] {
  const complaints: string[] = [];
  const ends = new Map<string, number>();
  const ids = new Set<string>();
  let last = 0;
  for (const { position, stream, revision, eventId, callId } of entries) {
    const expected = (ends.get(stream) ?? -1) + 1;
    if (position <= last) complaints.push(`position ${position} follows ${last}`);
    if (revision !== expected) complaints.push(`${stream} goes on with revision ${revision} instead of ${expected}`);
    if (ids.has(eventId)) complaints.push(`the event ${eventId} is recorded twice`);
    if (callId !== null && stream !== `toolCall-${callId}`) complaints.push(`${stream} holds an event of ${callId}`);
    last = position;
    ends.set(stream, revision);
    ids.add(eventId);
  }
  return complaints;
}

/** The first resolution is the only one; there is no response after the deadline, and no expiry before it. */
export function approvalComplaints({ callId, events }: CallHistory): readonly string[] {
  const complaints: string[] = [];
  const deadlines = new Map<string, string | null>();
  const resolutions = new Map<string, number>();
  const resolve = (approvalId: string): void => {
    const count = (resolutions.get(approvalId) ?? 0) + 1;
    resolutions.set(approvalId, count);
    if (count === 2) complaints.push(`the approval ${approvalId} of ${callId} is resolved twice`);
  };
  for (const event of events) {
    if (event.type === 'ApprovalRequested') deadlines.set(event.data.approvalId, event.data.expiresAt);
    if (event.type === 'ToolCallCancelled' && event.data.approvalId !== null) resolve(event.data.approvalId);
    if (event.type === 'ApprovalExpired') {
      const { approvalId, expiredAt } = event.data;
      if (!hasCome(deadlines.get(approvalId), expiredAt)) complaints.push(`${approvalId} expired before its deadline`);
      resolve(approvalId);
    }
    if (event.type === 'ApprovalResponded') {
      const { approvalId, respondedAt, resolution } = event.data;
      if (!deadlines.has(approvalId)) complaints.push(`${approvalId} was answered and never requested`);
      if (hasCome(deadlines.get(approvalId), respondedAt)) complaints.push(`${approvalId} was answered too late`);
      if (resolution !== 'pending') resolve(approvalId);
    }
  }
  return complaints;
}

function hasCome(deadline: string | null | undefined, at: string): boolean {
  return deadline !== undefined && deadline !== null && deadline <= at;
}

/** Every claim had the right to be: an approval or allowance of exactly these arguments, before it, in time, unused. */
export function claimComplaints(history: CallHistory, all: Histories): readonly string[] {
  const { callId, events, standings } = history;
  return events.flatMap((event, index) => {
    const before = standings[index - 1];
    if (before === undefined) return [];
    if (event.type === 'ExecutionLapsed' && !before.request.idempotent) {
      return [`${callId} was released although it is not idempotent`];
    }
    if (event.type !== 'ExecutionClaimed') return [];
    return [...oneClaim(event, before), ...siblingComplaints(event, before, all)];
  });
}

function oneClaim(event: CallEvent & { type: 'ExecutionClaimed' }, before: Standing): readonly string[] {
  const { attempt, actionDigest, claimedAt } = event.data;
  const what = `the claim ${attempt} of ${before.request.callId}`;
  const complaints: string[] = [];
  if (before.state !== 'allowed' && before.state !== 'approved')
    complaints.push(`${what} came when it was ${before.state}`);
  if (before.agreedDigest !== actionDigest) complaints.push(`${what} is not for the digest that was agreed to`);
  if (digestOf({ ...before.request, salt: before.salt }, before.arguments) !== actionDigest) {
    complaints.push(`${what} is not for the digest of the recorded arguments`);
  }
  if (attempt !== before.attempt + 1) complaints.push(`${what} follows the claim ${before.attempt}`);
  if (before.attempt === 0 && hasCome(before.executeBy, claimedAt)) complaints.push(`${what} came after executeBy`);
  if (before.request.clientExecuted) complaints.push(`${what} is of a call that the client executes`);
  return complaints;
}

const joined: ReadonlySet<ToolCallState> = new Set([
  'allowed',
  'approved',
  'executing',
  'succeeded',
  'failed',
  'unknown',
]);

/** No member of an all-or-nothing batch begins before every other one is approved or allowed. */
function siblingComplaints({ position }: CallEvent, { request }: Standing, all: Histories): readonly string[] {
  if (request.batchMode !== 'all-or-nothing') return [];
  return request.batchCallIds.flatMap((callId) => {
    const sibling = all.get(callId);
    const index = sibling?.events.findLastIndex((event) => event.position < position) ?? -1;
    const state = sibling?.standings[index]?.state;
    return state !== undefined && joined.has(state)
      ? []
      : [`${request.callId} was claimed while its sibling ${callId} was ${state ?? 'not recorded'}`];
  });
}

/** Every call ends with a known result. */
export function endComplaints({ callId, events, standings }: CallHistory): readonly string[] {
  const state = standings.at(-1)?.state;
  const open: readonly (ToolCallState | undefined)[] = [
    'awaiting_approval',
    'allowed',
    'approved',
    'executing',
    'unknown',
  ];
  if (!open.includes(state)) return [];
  const story = events.map(({ type, recordedAt }) => `${type} ${recordedAt}`).join(', ');
  return [`${callId} has not ended: it is ${state ?? 'unrecorded'} (${events[0]?.runId ?? ''}: ${story})`];
}
