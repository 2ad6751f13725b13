import { graceMs } from '../rights/timeline.js';
import type { CallState } from './call-state.js';
import { illegal } from './judged-event.js';
import type { Illegal, JudgedEvent, Judgement } from './judged-event.js';
import type { KnownStreams } from './streams.js';
import { isBeforeBy, isPastEnd } from './times.js';

/** A question and the begin of a batch are decided at one moment, each without the other. */
const momentMs = 3000;

/**
 * Compares when a batch begins with what its members wait for. Attacks: it begins while people are being asked about a member, or
 * long after the right to run has ended.
 */
export function judgeBatchBegin(event: JudgedEvent, streams: KnownStreams): Judgement {
  if (event.type !== 'BatchBegun') return { illegal: [], unproven: [] };
  const { callIds, callId } = event.data as { readonly callIds: readonly string[]; readonly callId: string };
  const members = callIds.map((id) => streams.get(`toolCall-${id}`)?.state).filter((state) => state?.kind === 'call');
  const found = members.map((member) => brokenBy(event, member, callId)).filter((word) => word !== undefined);
  const isListed = members.some((member) => isAskedFor(momentMs, member, event) || isOver(event, member));
  return {
    illegal: found.slice(0, 1),
    unproven: found.length === 0 && isListed ? ['batch-begin'] : [],
  };
}

/** The member that acts is one that may run. Of another one, the end of its right may not be recorded yet, as after a stop of the server. */
function brokenBy(event: JudgedEvent, member: CallState, acting: string): Illegal | undefined {
  const { callId, clientExecuted } = member.request;
  if (isAskedFor(graceMs, member, event)) {
    return illegal('batch', `the batch begins, and people are being asked about its member ${callId}`);
  }
  const isLate = callId === acting && !clientExecuted && isOver(event, member, { lateMs: graceMs });
  return isLate
    ? illegal('batch', `its member ${callId} begins the batch after its right to run has ended`)
    : undefined;
}

function isAskedFor(ms: number, { permission, approval }: CallState, { recordedAt }: JudgedEvent): boolean {
  return permission === 'awaiting' && approval !== null && isBeforeBy(ms, approval.askedAt, recordedAt);
}

function isOver(
  event: JudgedEvent,
  { permission, execution, executeBy }: CallState,
  late: Parameters<typeof isPastEnd>[2] = {},
): boolean {
  return permission === 'approved' && execution.status === 'none' && isPastEnd(executeBy, event, late);
}
