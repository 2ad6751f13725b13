import type { ToolCallEvent } from '@countersign/contracts';
import type { Decider, Decision } from './decider.js';
import { respondToApproval, revealValues, withdrawResponse } from './tool-call.approval.js';
import { commitToBatch } from './tool-call.batch.js';
import type { ToolCallCommand } from './tool-call.commands.js';
import { expireApproval, lapseApproval, lapseClaim, remindApprovers } from './tool-call.deadlines.js';
import { evolve } from './tool-call.evolve.js';
import {
  claimExecution,
  reconcileExecution,
  renewClaim,
  reportExecution,
  submitClientOutput,
} from './tool-call.execution.js';
import { cancelToolCall, describeApproval, requestApproval, requestToolCall } from './tool-call.request.js';
import { initialState, isSettled } from './tool-call.state.js';
import type { ToolCallState } from './tool-call.state.js';

/**
 * The life of one tool call: proposed, judged, asked about, answered, claimed, executed. Every command is answered from
 * the call's own stream alone; a "no" is a value with a stable code, and leaves no trace.
 */
export function decide(command: ToolCallCommand, state: ToolCallState): Decision<ToolCallEvent> {
  switch (command.type) {
    // What the agent asks.
    case 'RequestToolCall':
      return requestToolCall(command, state);
    case 'RequestApproval':
      return requestApproval(command, state);
    case 'DescribeApproval':
      return describeApproval(command, state);
    case 'CancelToolCall':
      return cancelToolCall(command, state);

    // What its batch says.
    case 'CommitToBatch':
      return commitToBatch(command, state);

    // What people say.
    case 'RespondToApproval':
      return respondToApproval(command, state);
    case 'WithdrawResponse':
      return withdrawResponse(command, state);
    case 'RevealValues':
      return revealValues(command, state);

    // What time does.
    case 'ExpireApproval':
      return expireApproval(command, state);
    case 'RemindApprovers':
      return remindApprovers(command, state);
    case 'LapseApproval':
      return lapseApproval(command, state);
    case 'LapseClaim':
      return lapseClaim(command, state);

    // What happens to the execution.
    case 'ClaimExecution':
      return claimExecution(command, state);
    case 'RenewClaim':
      return renewClaim(command, state);
    case 'ReportExecution':
      return reportExecution(command, state);
    case 'ReconcileExecution':
      return reconcileExecution(command, state);
    case 'SubmitClientOutput':
      return submitClientOutput(command, state);
  }
}

/** The decider of the stream `toolCall-<callId>`. */
export const toolCallDecider: Decider<ToolCallState, ToolCallCommand, ToolCallEvent> = {
  initialState,
  decide,
  evolve,
  isTerminal: isSettled,
};
