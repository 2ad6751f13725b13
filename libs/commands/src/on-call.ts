import { isCallId, toolCallStream } from '@countersign/contracts';
import type { Refusal } from '@countersign/contracts';
import type { ToolCall, ToolCallCommand, ToolCallState } from '@countersign/domain';
import type { CommandOrRefusal } from './handle-command.js';
import { noSuchCall } from './outcome.js';
import type { FieldError, Outcome, Rejection } from './outcome.js';
import type { CommandPorts } from './ports.js';

/** A command, or a "no" that was said before the decider was asked. */
export type Built = ToolCallCommand | { readonly status: 'rejected'; readonly rejection: Rejection };

/** The recorded call of this tenant, or undefined: another tenant's call is not there. */
export function callOf(state: ToolCallState, tenant: string): ToolCall | undefined {
  return state.status === 'recorded' && state.request.tenant === tenant ? state : undefined;
}

/**
 * Loads a recorded call, builds the command from it, decides and appends. The command is built anew when somebody else
 * wrote in between, so it always speaks of the state that it is decided on.
 */
export async function onCall(
  ports: CommandPorts,
  target: { readonly tenant: string; readonly callId: string; readonly commandId: string },
  build: (call: ToolCall, at: number) => Built | Promise<Built>,
): Promise<Outcome<ToolCall>> {
  const { tenant, callId, commandId } = target;
  if (!isCallId(callId)) return noSuchCall(callId);
  let rejection: Rejection | undefined;
  const toAnswer = (built: Built): CommandOrRefusal<ToolCallCommand> => {
    if (!('rejection' in built)) return { status: 'command', command: built };
    rejection = built.rejection;
    return notDecided;
  };
  const toCommand = (state: ToolCallState) => {
    const call = callOf(state, tenant);
    const built = call === undefined ? noSuchCall(callId) : build(call, ports.clock.now());
    return built instanceof Promise ? built.then(toAnswer) : toAnswer(built);
  };
  const handled = await ports.handler.handleCommand(toolCallStream(callId), toCommand, { tenant, callId, commandId });
  if (handled.status === 'accepted') {
    // A repeat is recognised by its id before the command is built, so the tenant is looked at here as well.
    const call = callOf(handled.state, tenant);
    return call === undefined ? noSuchCall(callId) : { status: 'done', value: call, position: handled.position };
  }
  return { status: 'rejected', rejection: rejection ?? toRejection(handled.refusal) };
}

/** Stands for a "no" that was said before the decider was asked. */
const notDecided = { status: 'refused', refusal: { code: 'not-due', detail: 'not decided' } } as const;

/** The decider's "no" as the edge answers it. */
export function toRejection(refusal: Refusal): Rejection {
  const errors = refusal.extra?.['errors'];
  return Array.isArray(errors) ? { ...refusal, errors: errors as readonly FieldError[] } : refusal;
}
