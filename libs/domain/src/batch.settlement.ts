import { standingOf } from './batch.decider.js';
import type { BatchState, Standing } from './batch.decider.js';
import type { RuleResult } from './decider.js';
import { endingOf, isBatchMember, isLateQuestion } from './tool-call.batch.js';
import type { Ending } from './tool-call.batch.js';
import type { BatchFate } from './tool-call.command-base.js';
import type { ToolCallCommand } from './tool-call.commands.js';
import { dueCommand } from './tool-call.deadlines.js';
import { toolCallDecider } from './tool-call.decider.js';
import { isMemberWith } from './tool-call.others.js';
import type { ToolCall, ToolCallState } from './tool-call.state.js';

/** The commands whose result may depend on the batch of the call. */
export type BatchBound = Extract<ToolCallCommand, { readonly batch?: BatchFate }>;

/**
 * The word of the batch that a command needs before it is decided: that the batch has begun, that it is broken by this end
 * of the member, or what was said before. `nothing`: the batch does not matter.
 */
export type NeededWord =
  { readonly word: 'nothing' | 'begin' | 'look' } | { readonly word: 'break'; readonly ending: Ending };

/** Returns the word that a command about a member of a batch needs: a member runs only in a batch that has begun. */
export function neededWord(command: BatchBound, call: ToolCall): NeededWord {
  if (!isBatchMember(call) || call.committed) return { word: 'nothing' };
  const decision = toolCallDecider.decide(command, call);
  const code = decision.status === 'refused' ? decision.refusal.code : undefined;
  if (code === 'batch-incomplete') return { word: 'begin' };
  if (code === 'batch-begun') {
    const ending = endingBy(call, { ...command, batch: 'broken' });
    return ending === undefined ? { word: 'nothing' } : { word: 'break', ending };
  }
  // In a batch that has begun, a request for approval may be too late, and the right to run does not lapse.
  const isQuestion = command.type === 'RequestApproval' || command.type === 'RequestToolCall';
  return { word: isQuestion || code === 'approval-lapsed' ? 'look' : 'nothing' };
}

/** How a call would end without a run by the command. */
function endingBy(call: ToolCall, command: BatchBound): Ending | undefined {
  const decision = toolCallDecider.decide(command, call);
  if (decision.status === 'refused') return undefined;
  const after = decision.events.reduce<ToolCallState>((state, event) => toolCallDecider.evolve(state, event), call);
  return after.status === 'recorded' ? endingOf(after) : undefined;
}

/** Returns whether what is recorded under the id of another member is one. */
export function isInBatchOf(state: ToolCallState, call: ToolCall): state is ToolCall {
  return state.status === 'recorded' && isMemberWith(state, call);
}

/** The standing in a call's batch of what is recorded under the id of another member; null: it cannot be read. */
export function standingIn(state: ToolCallState | null, call: ToolCall): Standing {
  // Whether it was denied since is unknown, so the batch does not begin.
  return state !== null && isInBatchOf(state, call) ? standingOf(state) : 'missing';
}

/** What brings a batch in line with a call: a word, the close of its open members or of a late question, or nothing. */
export type Settlement =
  | { readonly step: 'none' | 'close-question' }
  | { readonly step: 'break'; readonly ending: Ending }
  | { readonly step: 'close-members'; readonly fate: BrokenBatch };

export type BrokenBatch = Extract<BatchState, { readonly status: 'broken' }>;

/** Returns the next step: a member that ended without having run breaks the batch, and a broken batch has no open member. */
export function settlementOf(call: ToolCall, fate: BatchState): Settlement {
  const ending = endingOf(call);
  switch (fate.status) {
    case 'open':
      return ending === undefined ? { step: 'none' } : { step: 'break', ending };
    case 'begun':
      return { step: isLateQuestion(call) ? 'close-question' : 'none' };
    case 'broken':
      return { step: 'close-members', fate };
  }
}

/** Returns whether a batch must be brought in line after the call ended, or was asked about late. */
export function concernsBatch(call: ToolCall): boolean {
  return isBatchMember(call) && (endingOf(call) !== undefined || isLateQuestion(call));
}

/** The call of a request whose batch must be brought in line, as it was found or as it was recorded. */
export function callToSettle(
  found: readonly ToolCallState[],
  recorded: readonly ToolCallState[],
): ToolCall | undefined {
  const isMember = (state: ToolCallState): state is ToolCall => state.status === 'recorded' && isBatchMember(state);
  const ended = [...found, ...recorded].filter(isMember).find((call) => endingOf(call) !== undefined);
  // A retry may have completed a batch that broke before all of its calls were recorded.
  return ended ?? found.find(isMember);
}

/**
 * Ends an open member of the broken batch of a call. The member that broke the batch ends as its own process meant it to;
 * the others are cancelled.
 */
export function closingOf(
  member: ToolCall,
  call: ToolCall,
  fate: BrokenBatch,
  at: number,
): ToolCallCommand | Extract<RuleResult<never>, { readonly status: 'refused' }> {
  if (!isInBatchOf(member, call)) {
    return { status: 'refused', refusal: { code: 'forbidden', detail: 'The call belongs to another batch.' } };
  }
  const cancel = { type: 'CancelToolCall', at, reach: 'any', batch: 'broken' } as const;
  if (member.request.callId !== fate.callId) {
    const reason = `the call ${fate.callId} of the same all-or-nothing batch was ${fate.state}`;
    return { ...cancel, reason, cancelledBy: 'countersign' };
  }
  const due = fate.state === 'expired' ? dueCommand(member, at) : null;
  return due?.type === 'ExpireApproval' || due?.type === 'LapseApproval'
    ? { ...due, batch: 'broken' }
    : { ...cancel, reason: fate.reason, cancelledBy: fate.brokenBy };
}
