import type { EventData, JsonObject, ToolCallState } from '@countersign/contracts';
import type { CallEvent } from './log.js';

/** The state of a call after some of its events, as the audit needs it, folded without the product's code. */
export interface Standing {
  readonly request: EventData<'ToolCallRequested'>;
  readonly state: ToolCallState;
  /** The state without an execution. */
  readonly permission: ToolCallState;
  /** The arguments that will run, and their recorded digest. */
  readonly arguments: JsonObject;
  readonly salt: string | null;
  readonly actionDigest: string;
  /** The approved digest; null before an approval. */
  readonly agreedDigest: string | null;
  readonly executeBy: string | null;
  /** The latest claim; 0 before the first. */
  readonly attempt: number;
  /** How often a person ordered another try. */
  readonly retries: number;
}

/** After the first event of a call. @throws Error when that is no request. */
export function beginning(event: CallEvent): Standing {
  if (event.type !== 'ToolCallRequested') throw new Error(`${event.stream} begins with ${event.type}`);
  const { arguments: args, actionDigest, salt } = event.data;
  return {
    request: event.data,
    state: 'awaiting_approval',
    permission: 'awaiting_approval',
    arguments: args,
    salt,
    actionDigest,
    agreedDigest: null,
    executeBy: null,
    attempt: 0,
    retries: 0,
  };
}

/** After one more event. */
export function after(before: Standing, event: CallEvent): Standing {
  switch (event.type) {
    case 'ToolCallRequested':
      throw new Error(`${event.stream} holds a second request`);
    case 'ToolCallAllowed':
      return { ...permission(before, 'allowed'), agreedDigest: before.actionDigest };
    case 'ToolCallBlocked':
      return permission(before, 'blocked');
    case 'ApprovalRequested':
    case 'ToolCallQueued':
      return permission(before, 'awaiting_approval');
    case 'ApprovalResponded':
      return responded(before, event.data);
    case 'ApprovalExpired':
    case 'ApprovalLapsed':
      return permission(before, 'expired');
    case 'ToolCallCancelled':
      return permission(before, 'cancelled');
    case 'ToolCallCommitted':
      return committed(before, event.data);
    case 'ApprovalDescribed':
    case 'ResponseWithdrawn':
    case 'ValuesRevealed':
    case 'ToolCallShadowJudged':
    case 'ApprovalEscalated':
    case 'ApproversReminded':
    case 'ExecutionClaimRenewed':
      return before;
    case 'ExecutionClaimed':
      return { ...before, state: 'executing', attempt: event.data.attempt };
    case 'ExecutionSucceeded':
      return { ...before, state: 'succeeded' };
    case 'ExecutionFailed':
      return { ...before, state: 'failed' };
    case 'ExecutionLapsed':
      return { ...before, state: before.permission };
    case 'ExecutionOutcomeUnknown':
      return { ...before, state: 'unknown' };
    case 'ExecutionReconciled':
      return event.data.status === 'retry'
        ? { ...before, state: before.permission, retries: before.retries + 1 }
        : { ...before, state: event.data.status };
  }
}

/** The batch of the call has begun: an approval that came too late is closed. */
function committed(before: Standing, { approvalId }: EventData<'ToolCallCommitted'>): Standing {
  return { ...(approvalId === null ? before : permission(before, 'allowed')), executeBy: null };
}

function permission(before: Standing, state: ToolCallState): Standing {
  return { ...before, state, permission: state };
}

/** One approver is enough for every call of these tests, so a response resolves the approval. */
function responded(before: Standing, { decision, ...data }: EventData<'ApprovalResponded'>): Standing {
  const edited =
    decision.type === 'edit'
      ? { ...before, arguments: decision.arguments, salt: decision.salt, actionDigest: data.actionDigest }
      : before;
  if (data.resolution === 'pending') return edited;
  if (data.resolution === 'denied') return permission(edited, 'denied');
  const approved = { ...permission(edited, 'approved'), agreedDigest: data.actionDigest, executeBy: data.executeBy };
  return decision.type === 'answer' ? { ...approved, state: 'succeeded' } : approved;
}

/** The state of a call after each of its events, by revision. */
export function standingsOf(events: readonly CallEvent[]): readonly Standing[] {
  const standings: Standing[] = [];
  for (const event of events) {
    const before = standings.at(-1);
    standings.push(before === undefined ? beginning(event) : after(before, event));
  }
  return standings;
}
