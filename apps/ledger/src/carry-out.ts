import {
  cancelToolCall,
  describeApproval,
  requestApproval,
  requestToolCalls,
  submitClientOutput,
} from '@countersign/commands';
import type { Actor, CommandPorts, Outcome, Rejection } from '@countersign/commands';
import { deriveCallId } from '@countersign/contracts';
import { cancelRun } from './cancel-run.js';
import type { CancelRunPorts } from './cancel-run.js';
import type { Request } from './parse-request.js';

export interface CarryOutPorts extends CancelRunPorts {
  readonly commands: CommandPorts;
}

/** Does what a request asks; the answer is why not, or nothing. */
export async function carryOut(
  ports: CarryOutPorts,
  actor: Actor,
  request: Request,
  commandId: string,
): Promise<Rejection | undefined> {
  const { commands } = ports;
  switch (request.type) {
    case 'ToolCallRequested':
      return rejectionOf(await requestToolCalls(commands, actor, request.body, commandId));
    case 'ApprovalRequested': {
      const { runId, toolCallId, ...body } = request.body;
      const callId = deriveCallId(actor.tenant, runId, toolCallId);
      const rejection = rejectionOf(await requestApproval(commands, actor, callId, body, commandId));
      // People are asked already: the message only adds what they did not know.
      if (rejection?.code !== 'already-pending') return rejection;
      return rejectionOf(await describeApproval(commands, actor, callId, body, commandId));
    }
    case 'ToolCallCancelled': {
      const { runId, toolCallId, reason } = request.body;
      if (toolCallId === undefined) return cancelWholeRun(ports, actor, { runId, reason }, commandId);
      const callId = deriveCallId(actor.tenant, runId, toolCallId);
      return rejectionOf(await cancelToolCall(commands, actor, callId, reason, commandId));
    }
    case 'ToolOutputSubmitted': {
      const { runId, toolCallId, ...body } = request.body;
      const callId = deriveCallId(actor.tenant, runId, toolCallId);
      return rejectionOf(await submitClientOutput(commands, actor, callId, body, commandId));
    }
  }
}

function rejectionOf(outcome: Outcome<unknown>): Rejection | undefined {
  return outcome.status === 'rejected' ? outcome.rejection : undefined;
}

async function cancelWholeRun(
  ports: CarryOutPorts,
  actor: Actor,
  body: { readonly runId: string; readonly reason: string },
  commandId: string,
): Promise<Rejection | undefined> {
  const [first, ...rest] = await cancelRun(ports, actor, body, commandId);
  if (first === undefined) return undefined;
  const others = rest.length === 0 ? '' : `, and ${String(rest.length)} more`;
  return { ...first.rejection, detail: `${first.callId}${others}: ${first.rejection.detail}` };
}
