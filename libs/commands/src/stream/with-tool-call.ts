import { isCallId, toolCallStream } from '@countersign/contracts';
import type { Refusal, ToolCallEvent } from '@countersign/contracts';
import type { RuleResult, Rule, ToolCall, ToolCallCommand, ToolCallState } from '@countersign/domain';
import type { Actor } from '../actor.js';
import { withProof } from '../proof.js';
import { noSuchCall } from '../result.js';
import type { Result } from '../result.js';
import type { CommandPorts } from '../ports.js';
import { UnreadableStreamError } from './unreadable-stream.js';

/** A refusal before any rule was applied. */
export interface Refused {
  readonly status: 'refused';
  readonly refusal: Refusal;
}

/** The recorded call of this tenant, or undefined: another tenant's call is not there. */
export function callOf(state: ToolCallState, tenant: string): ToolCall | undefined {
  return state.status === 'recorded' && state.request.tenant === tenant ? state : undefined;
}

/** A command on one call. */
interface Target {
  readonly tenant: string;
  readonly callId: string;
  readonly commandId: string;
  /** The person or program whose proof is recorded with the decision. Default: none. */
  readonly by?: Actor;
  /** Returns whether the events of this id are those of this command. Default: they are. */
  readonly isRepeat?: (recorded: readonly ToolCallEvent[], call: ToolCall) => boolean;
}

/**
 * Loads a recorded call, builds the command from it, applies the rule, and appends. When another process wrote in
 * between, the command is built again, so it always fits the state that it is decided on.
 */
export async function withToolCall<Command extends ToolCallCommand>(
  ports: CommandPorts,
  target: Target,
  rule: Rule<Command>,
  build: (call: ToolCall, at: number, lateMs: number) => Command | Refused | Promise<Command | Refused>,
): Promise<Result<ToolCall>> {
  const { tenant, callId, commandId, by, isRepeat } = target;
  if (!isCallId(callId)) return noSuchCall(callId);
  const decide = (state: ToolCallState, lateMs: number) => {
    const apply = (built: Command | Refused): RuleResult<ToolCallEvent> => {
      if ('refusal' in built) return built;
      const result = applyRule(ports, rule, built, state);
      return by === undefined ? result : withProof(result, by);
    };
    const call = callOf(state, tenant);
    const built = call === undefined ? noSuchCall(callId) : build(call, ports.clock.now(), lateMs);
    return built instanceof Promise ? built.then(apply) : apply(built);
  };
  const handled = await ports.handler
    .handleCommand(toolCallStream(callId), decide, {
      ...{ tenant, callId, commandId },
      ...(isRepeat !== undefined && {
        isRepeat: (recorded: readonly ToolCallEvent[], state: ToolCallState) => {
          const call = callOf(state, tenant);
          return call === undefined || isRepeat(recorded, call);
        },
      }),
    })
    .catch(refusedIfUnreadable);
  if (handled.status === 'accepted') {
    // A repeat is recognised by its id before the command is built, so the tenant is looked at here as well.
    const call = callOf(handled.state, tenant);
    if (call === undefined) return noSuchCall(callId);
    const { position, traceparent } = handled;
    return { status: 'done', value: call, position, traceparent };
  }
  return { status: 'refused', refusal: handled.refusal };
}

/** The refusal of a command that needs another stream, such as its batch's, which cannot be read. */
function refusedIfUnreadable(error: unknown): Refused {
  if (error instanceof UnreadableStreamError) return { status: 'refused', refusal: error.refusal };
  throw error;
}

/** A rule's result for a command in a state. */
export function applyRule<Command extends ToolCallCommand>(
  { alterRule }: CommandPorts,
  rule: Rule<Command>,
  command: Command,
  state: ToolCallState,
): RuleResult<ToolCallEvent> {
  return alterRule === undefined ? rule(command, state) : alterRule(rule)(command, state);
}

/** A call as its own stream has it now; undefined when this tenant has none with that id. */
export async function findCall(ports: CommandPorts, tenant: string, callId: string): Promise<ToolCall | undefined> {
  return callOf((await ports.handler.load(toolCallStream(callId))).state, tenant);
}
