import { isCallId, toolCallStream } from '@countersign/contracts';
import type { Refusal } from '@countersign/contracts';
import type { ToolCall, ToolCallCommand, ToolCallState } from '@countersign/domain';
import { noSuchCall } from './outcome.js';
import type { Outcome, Rejection } from './outcome.js';
import type { CommandPorts } from './ports.js';

type Built = ToolCallCommand | { readonly status: 'rejected'; readonly rejection: Rejection };

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
  if (!isCallId(target.callId)) return noSuchCall(target.callId);
  let stop: Rejection | undefined;
  const handled = await ports.handler.handle(
    toolCallStream(target.callId),
    async (state) => {
      const call = callOf(state, target.tenant);
      const built = call === undefined ? noSuchCall(target.callId) : await build(call, ports.clock.now());
      if (!('rejection' in built)) return built;
      stop = built.rejection;
      return undefined;
    },
    (state) => ({
      tenant: target.tenant,
      callId: target.callId,
      runId: state.status === 'recorded' ? state.request.runId : null,
      commandId: target.commandId,
    }),
  );
  if (handled.status === 'refused') return { status: 'rejected', rejection: toRejection(handled.refusal) };
  if (stop !== undefined) return { status: 'rejected', rejection: stop };
  if (handled.state.status !== 'recorded') return noSuchCall(target.callId);
  return { status: 'done', value: handled.state, position: handled.position };
}

/** The decider's "no" as the edge answers it. */
export function toRejection(refusal: Refusal): Rejection {
  const errors = refusal.extra?.['errors'];
  return Array.isArray(errors) ? { ...refusal, errors: errors as Rejection['errors'] & {} } : refusal;
}
