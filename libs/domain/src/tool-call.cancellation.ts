import type { ToolCallEvent } from '@countersign/contracts';
import { refused } from './decider.js';
import type { RuleResult } from './decider.js';
import { notOwner } from './ownership.js';
import type { CancelToolCall } from './tool-call.commands.js';
import { cancelled } from './tool-call.request.js';
import { callState } from './tool-call.state.js';
import type { ToolCallState } from './tool-call.state.js';

/** Only an unclaimed call can be cancelled: a claim may have had its effect, even a released one. */
export function cancelToolCall(command: CancelToolCall, state: ToolCallState): RuleResult<ToolCallEvent> {
  if (state.status === 'unrequested') return refused('not-requested', 'No such tool call is recorded.');
  const notOwned = notOwner(state, command.cancelledBy, command.reach);
  if (notOwned !== undefined) return notOwned;
  if (state.execution.status === 'released') {
    return refused('already-claimed', 'The call was claimed before, so it may have run.');
  }
  const name = callState(state);
  switch (name) {
    case 'executing':
      return refused('already-claimed', 'The execution is under way.');
    case 'awaiting_approval':
    case 'allowed':
    case 'approved':
      return cancelled(command, state);
    default:
      return refused('already-settled', `The tool call is ${String(name)}.`, { state: name });
  }
}
