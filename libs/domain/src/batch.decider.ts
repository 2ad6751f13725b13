import type { BatchEvent } from '@countersign/contracts';
import { accepted, refused } from './decider.js';
import type { Decider, RuleResult } from './decider.js';
import { toStored } from './time.js';
import type { ToolCall } from './tool-call.state.js';

/** The state of one member for its batch. `missing`: nothing of this batch is recorded for it. */
export type Standing = 'missing' | 'waiting' | 'permitted' | 'answered' | 'begun' | 'ended';

/** One member of a batch, from its own stream. */
export interface BatchMember {
  readonly callId: string;
  readonly standing: Standing;
}

type BrokenData = Extract<BatchEvent, { type: 'BatchBroken' }>['data'];

interface OnBatch {
  /** The moment at which the command is decided, epoch milliseconds. */
  readonly at: number;
  /** The recorded list of all members. */
  readonly callIds: readonly string[];
  readonly requestedBy: string;
  /** The member that acts. */
  readonly callId: string;
  /** Every member that was read; an absent one counts as missing. Not read once the batch is decided. */
  readonly members: readonly BatchMember[];
}

/** A member is about to run: then every member may. */
export interface BeginBatch extends OnBatch {
  readonly type: 'BeginBatch';
}

/** A member has ended, or is about to, without having run: then no member may. */
export interface BreakBatch extends OnBatch {
  readonly type: 'BreakBatch';
  readonly state: BrokenData['state'];
  readonly reason: string;
  readonly brokenBy: string;
}

export type BatchCommand = BeginBatch | BreakBatch;

/** The state of a batch's stream. `begun` and `broken` are final. */
export type BatchState =
  | { readonly status: 'open' }
  | { readonly status: 'begun' }
  | ({ readonly status: 'broken' } & Pick<BrokenData, 'callIds' | 'callId' | 'state' | 'reason' | 'brokenBy'>);

/** The state of a call for its batch. */
export function standingOf({ permission, execution }: ToolCall): Standing {
  if (execution.status !== 'none') {
    const isAnswered = 'by' in execution && execution.by === 'approver';
    return isAnswered ? 'answered' : 'begun';
  }
  switch (permission.status) {
    case 'awaiting_approval':
      return 'waiting';
    case 'allowed':
    case 'approved':
      return 'permitted';
    default:
      return 'ended';
  }
}

/** An older version recorded no word about a batch: there a member that has begun is the word. */
function hasBegun(members: readonly BatchMember[]): boolean {
  return members.some(({ standing }) => standing === 'begun');
}

function beginBatch(command: BeginBatch, state: BatchState): RuleResult<BatchEvent> {
  const { at, callIds, requestedBy, callId, members } = command;
  if (state.status === 'begun') return accepted();
  if (state.status === 'broken') return brokenBatch(state);
  const ready = new Set(
    members.filter(({ standing }) => standing === 'permitted' || standing === 'answered').map((one) => one.callId),
  );
  // By the recorded list, not by what the command brings.
  const missing = callIds.filter((one) => !ready.has(one));
  if (missing.length > 0 && !hasBegun(members)) {
    return refused('batch-incomplete', 'Not every call of the batch is approved.', { callIds: missing });
  }
  return accepted({
    type: 'BatchBegun',
    data: { callIds: [...callIds], requestedBy, callId, begunAt: toStored(at) },
  });
}

function brokenBatch({ callId, state }: Extract<BatchState, { status: 'broken' }>): RuleResult<never> {
  const detail = `The call ${callId} of the same all-or-nothing batch is ${state}, so no call of the batch runs.`;
  return refused('batch-incomplete', detail, { callIds: [callId], batch: 'broken' });
}

function breakBatch(command: BreakBatch, state: BatchState): RuleResult<BatchEvent> {
  if (state.status === 'broken') return accepted();
  if (state.status === 'begun' || hasBegun(command.members)) {
    return refused(
      'batch-begun',
      'Another call of the same all-or-nothing batch has begun, so every call of it may run.',
    );
  }
  const { at, callIds, requestedBy, callId, reason, brokenBy } = command;
  return accepted({
    type: 'BatchBroken',
    data: {
      callIds: [...callIds],
      requestedBy,
      callId,
      state: command.state,
      reason,
      brokenBy,
      brokenAt: toStored(at),
    },
  });
}

function evolve(state: BatchState, event: BatchEvent): BatchState {
  // The first event wins.
  if (state.status !== 'open') return state;
  if (event.type === 'BatchBegun') return { status: 'begun' };
  const { callIds, callId, state: ending, reason, brokenBy } = event.data;
  return { status: 'broken', callIds, callId, state: ending, reason, brokenBy };
}

/**
 * The decider of the stream of one all-or-nothing batch. The first recorded event is final: after `BatchBegun` every
 * member may run and none can be cancelled; after `BatchBroken` no member runs.
 */
export const batchDecider: Decider<BatchState, BatchCommand, BatchEvent> = {
  initialState: () => ({ status: 'open' }),
  decide: (command, state) => (command.type === 'BeginBatch' ? beginBatch(command, state) : breakBatch(command, state)),
  evolve,
  isTerminal: ({ status }) => status !== 'open',
};
