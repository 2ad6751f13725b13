import type { ToolCallEvent } from '@countersign/contracts';
import type { RuleResult } from './decider.js';
import type { ToolCallCommand } from './tool-call.commands.js';
import type { ToolCallState } from './tool-call.state.js';

/** The rule of one command: its events in a state, or its refusal. */
export type Rule<Command extends ToolCallCommand> = (
  command: Command,
  state: ToolCallState,
) => RuleResult<ToolCallEvent>;

export { respondToApproval, revealValues } from './tool-call.approval.js';
export { commitToBatch } from './tool-call.batch.js';
export { expireApproval, lapseApproval, lapseClaim, remindApprovers } from './tool-call.deadlines.js';
export {
  claimExecution,
  reconcileExecution,
  renewClaim,
  reportExecution,
  submitClientOutput,
} from './tool-call.execution.js';
export { cancelToolCall } from './tool-call.cancellation.js';
export { describeApproval, requestApproval } from './tool-call.question.js';
export { requestToolCall } from './tool-call.request.js';
export { takeTurn } from './tool-call.take-turn.js';
export { withdrawResponse } from './tool-call.withdrawal.js';
