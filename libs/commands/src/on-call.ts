import { isCallId, toolCallStream } from '@countersign/contracts';
import type { Refusal, ToolCallEvent } from '@countersign/contracts';
import type { Decision, Rule, ToolCall, ToolCallCommand, ToolCallState } from '@countersign/domain';
import { noSuchCall } from './outcome.js';
import type { FieldError, Outcome, Rejection } from './outcome.js';
import type { CommandPorts } from './ports.js';

/** A "no" that was said before a rule was asked. */
export interface Rejected {
  readonly status: 'rejected';
  readonly rejection: Rejection;
}

/** The recorded call of this tenant, or undefined: another tenant's call is not there. */
export function callOf(state: ToolCallState, tenant: string): ToolCall | undefined {
  return state.status === 'recorded' && state.request.tenant === tenant ? state : undefined;
}

/**
 * Loads a recorded call, builds the command from it, applies the rule, and appends. When another process wrote in
 * between, the command is built again, so it always fits the state that it is decided on.
 */
export async function onCall<Command extends ToolCallCommand>(
  ports: CommandPorts,
  target: { readonly tenant: string; readonly callId: string; readonly commandId: string },
  rule: Rule<Command>,
  build: (call: ToolCall, at: number) => Command | Rejected | Promise<Command | Rejected>,
): Promise<Outcome<ToolCall>> {
  const { tenant, callId, commandId } = target;
  if (!isCallId(callId)) return noSuchCall(callId);
  let rejection: Rejection | undefined;
  const decide = (state: ToolCallState) => {
    const apply = (built: Command | Rejected): Decision<ToolCallEvent> => {
      if (!('rejection' in built)) return applyRule(ports, rule, built, state);
      rejection = built.rejection;
      return notDecided;
    };
    const call = callOf(state, tenant);
    const built = call === undefined ? noSuchCall(callId) : build(call, ports.clock.now());
    return built instanceof Promise ? built.then(apply) : apply(built);
  };
  const handled = await ports.handler.handleCommand(toolCallStream(callId), decide, { tenant, callId, commandId });
  if (handled.status === 'accepted') {
    // A repeat is recognised by its id before the command is built, so the tenant is looked at here as well.
    const call = callOf(handled.state, tenant);
    return call === undefined ? noSuchCall(callId) : { status: 'done', value: call, position: handled.position };
  }
  return { status: 'rejected', rejection: rejection ?? toRejection(handled.refusal) };
}

/** What a rule says of a command in a state. */
export function applyRule<Command extends ToolCallCommand>(
  { alterRule }: CommandPorts,
  rule: Rule<Command>,
  command: Command,
  state: ToolCallState,
): Decision<ToolCallEvent> {
  return alterRule === undefined ? rule(command, state) : alterRule(rule)(command, state);
}

/** Stands for a "no" that was said before a rule was asked. */
const notDecided = { status: 'refused', refusal: { code: 'not-due', detail: 'not decided' } } as const;

/** A call as its own stream has it now; undefined when this tenant has none with that id. */
export async function findCall(ports: CommandPorts, tenant: string, callId: string): Promise<ToolCall | undefined> {
  return callOf((await ports.handler.load(toolCallStream(callId))).state, tenant);
}

/** A rule's "no" as the edge answers it. */
export function toRejection(refusal: Refusal): Rejection {
  const errors = refusal.extra?.['errors'];
  return Array.isArray(errors) ? { ...refusal, errors: errors as readonly FieldError[] } : refusal;
}
