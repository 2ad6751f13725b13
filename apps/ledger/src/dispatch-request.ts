import type { Refusal } from '@countersign/contracts';
import {
  cancelRun,
  cancelToolCall,
  describeApproval,
  notCancelledOf,
  requestApproval,
  requestToolCalls,
  submitClientOutput,
} from '@countersign/commands';
import type { Actor, CancelRunPorts, CommandPorts, Result } from '@countersign/commands';
import { deriveCallId } from '@countersign/contracts';
import type { Request } from './parse-request.js';

export interface DispatchPorts extends CancelRunPorts {
  readonly commands: CommandPorts;
}

/** The recorded call that a request is about; undefined when it requests calls, or cancels a whole run. */
export function callIdOf({ tenant }: Pick<Actor, 'tenant'>, { type, body }: Request): string | undefined {
  if (type === 'ToolCallRequested' || body.toolCallId === undefined) return undefined;
  return deriveCallId(tenant, body.runId, body.toolCallId);
}

/** Carries out a request. Returns the refusal, or undefined. */
export async function dispatchRequest(
  ports: DispatchPorts,
  actor: Actor,
  request: Request,
  commandId: string,
): Promise<Refusal | undefined> {
  const { commands } = ports;
  switch (request.type) {
    case 'ToolCallRequested':
      return refusalOf(await requestToolCalls(commands, actor, request.body, commandId));
    case 'ApprovalRequested': {
      const { runId, toolCallId, ...body } = request.body;
      const callId = deriveCallId(actor.tenant, runId, toolCallId);
      const refusal = refusalOf(await requestApproval(commands, actor, callId, body, commandId));
      // People are asked about this call already: the message only adds what they did not know.
      if (refusal?.code !== 'already-pending' || isAboutAnother(refusal, callId)) return refusal;
      return refusalOf(await describeApproval(commands, actor, callId, body, commandId));
    }
    case 'ToolCallCancelled': {
      const { runId, toolCallId, reason } = request.body;
      if (toolCallId === undefined) return cancelWholeRun(ports, actor, { runId, reason }, commandId);
      const callId = deriveCallId(actor.tenant, runId, toolCallId);
      return refusalOf(await cancelToolCall(commands, actor, callId, reason, commandId));
    }
    case 'ToolOutputSubmitted': {
      const { runId, toolCallId, ...body } = request.body;
      const callId = deriveCallId(actor.tenant, runId, toolCallId);
      return refusalOf(await submitClientOutput(commands, actor, callId, body, commandId));
    }
  }
}

/** Returns whether people are asked about an identical call instead, which a quota does not allow twice. */
function isAboutAnother({ extra }: Refusal, callId: string): boolean {
  const pending = extra?.['callId'];
  return pending !== undefined && pending !== callId;
}

function refusalOf(outcome: Result<unknown>): Refusal | undefined {
  return outcome.status === 'refused' ? outcome.refusal : undefined;
}

async function cancelWholeRun(
  ports: DispatchPorts,
  actor: Actor,
  body: { readonly runId: string; readonly reason: string },
  commandId: string,
): Promise<Refusal | undefined> {
  const cancelled = await cancelRun(ports, actor, body, commandId);
  if ('refusal' in cancelled) return cancelled.refusal;
  const [first, ...rest] = notCancelledOf(cancelled);
  if (first === undefined) return undefined;
  const others = rest.length === 0 ? '' : `, and ${String(rest.length)} more`;
  return { ...first.refusal, detail: `${first.callId}${others}: ${first.refusal.detail}` };
}
