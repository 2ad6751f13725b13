import type { ToolCallEvent } from '@countersign/contracts';
import type { Decider, RuleResult } from './decider.js';
import type { ToolCallCommand } from './tool-call.commands.js';
import { evolve } from './tool-call.evolve.js';
import * as rules from './tool-call.rules.js';
import { initialState, isSettled } from './tool-call.state.js';
import type { ToolCallState } from './tool-call.state.js';

/**
 * The life of one tool call: requested, judged, approved, claimed, executed. Every command is decided on the call's own
 * stream alone; a refusal is a value with a stable code and leaves no event.
 */
export function decide(command: ToolCallCommand, state: ToolCallState): RuleResult<ToolCallEvent> {
  switch (command.type) {
    // The agent's commands.
    case 'RequestToolCall':
      return rules.requestToolCall(command, state);
    case 'RequestApproval':
      return rules.requestApproval(command, state);
    case 'DescribeApproval':
      return rules.describeApproval(command, state);
    case 'CancelToolCall':
      return rules.cancelToolCall(command, state);

    // The batch's command.
    case 'CommitToBatch':
      return rules.commitToBatch(command, state);

    // The queue's command.
    case 'TakeTurn':
      return rules.takeTurn(command, state);

    // People's commands.
    case 'RespondToApproval':
      return rules.respondToApproval(command, state);
    case 'WithdrawResponse':
      return rules.withdrawResponse(command, state);
    case 'RevealValues':
      return rules.revealValues(command, state);

    // The clock's commands.
    case 'ExpireApproval':
      return rules.expireApproval(command, state);
    case 'RemindApprovers':
      return rules.remindApprovers(command, state);
    case 'LapseApproval':
      return rules.lapseApproval(command, state);
    case 'LapseClaim':
      return rules.lapseClaim(command, state);

    // The execution's commands.
    case 'ClaimExecution':
      return rules.claimExecution(command, state);
    case 'RenewClaim':
      return rules.renewClaim(command, state);
    case 'ReportExecution':
      return rules.reportExecution(command, state);
    case 'ReconcileExecution':
      return rules.reconcileExecution(command, state);
    case 'SubmitClientOutput':
      return rules.submitClientOutput(command, state);
  }
}

/** The decider of the stream `toolCall-<callId>`. */
export const toolCallDecider: Decider<ToolCallState, ToolCallCommand, ToolCallEvent> = {
  initialState,
  decide,
  evolve,
  isTerminal: isSettled,
};
