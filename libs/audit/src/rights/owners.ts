import type { CallState } from '../legality/call-state.js';
import { illegal } from '../legality/judged-event.js';
import type { JudgedEvent, Judgement } from '../legality/judged-event.js';
import type { StreamState } from '../legality/streams.js';

const legal: Judgement = { illegal: [], unproven: [] };

/** The members with who asks about a call, adds words to its question or cancels it. */
const askers = { ApprovalRequested: 'requestedBy', ApprovalDescribed: 'describedBy', ToolCallCancelled: 'cancelledBy' };

/** Since then a question says with which roles its principal asks. */
const rolesSince = '2026-11-30T04:00:00.000Z';

/**
 * Only the requester of a call, or an admin, has people asked about it and cancels it. Attack: one agent asks about the calls of
 * another, or ends them. A call that waited for its turn is asked about by what was recorded with its place, and a batch that is
 * broken cancels its members in the name of who broke it.
 */
export function judgeOwner({ type, data, recordedAt }: JudgedEvent, before: StreamState | undefined): Judgement {
  if (before?.kind !== 'call' || !isAsked(type) || recordedAt < rolesSince) return legal;
  const members = data as Readonly<Record<string, unknown>>;
  const by = members[askers[type]];
  if (by === before.request.requestedBy || isAdmin(members) || isOfService(type, by, before)) return legal;
  const detail = `${String(by)} is neither the requester of the call nor an admin`;
  return { illegal: [illegal('rights', detail)], unproven: [] };
}

function isAdmin({ roles }: Readonly<Record<string, unknown>>): boolean {
  return Array.isArray(roles) && roles.includes('admin');
}

function isOfService(type: keyof typeof askers, by: unknown, { request, queued }: CallState): boolean {
  const isOfBatch = type === 'ToolCallCancelled' && (by === 'countersign' || request.batchStream !== null);
  return isOfBatch || queued !== null;
}

function isAsked(type: string): type is keyof typeof askers {
  return Object.hasOwn(askers, type);
}
