import {
  assertRequested,
  didNotRun,
  modelText,
  type ApprovalView,
  type JsonValue,
  type Step,
  type WaitOptions,
  type Worker,
} from '@countersign/worker-sdk';
import { RunState, type RunToolApprovalItem } from '@openai/agents';
import type { FrameworkContext } from './gated-tool.js';

export type AnyAgent = Parameters<typeof RunState.fromString>[0];

/** How long to wait for people. */
export type Limits = Omit<WaitOptions, 'context'>;

/** The state to go on with. */
export interface Resumed<A extends AnyAgent> {
  /** For `run(agent, state)`. With some calls pending it runs those that are decided, and is interrupted again. */
  readonly state: RunState<unknown, A>;
  readonly pending: readonly ApprovalView[];
}

/** The interruptions of other tools are left to the caller. */
export async function resumeState<A extends AnyAgent>(
  worker: Worker<FrameworkContext>,
  run: Pick<Step, 'runId' | 'parentCallId' | 'onBehalfOf'>,
  gated: ReadonlySet<string>,
  agent: A,
  stored: string,
  { timeoutMs, signal }: Limits = {},
): Promise<Resumed<A>> {
  const state: RunState<unknown, A> = await RunState.fromString(agent, stored);
  const items = state.getInterruptions().filter(({ name }) => name !== undefined && gated.has(name));
  if (items.length === 0) return { state, pending: [] };
  const toolCalls = items.map((item) => ({
    toolCallId: callIdOf(item),
    toolName: item.name ?? '',
    arguments: JSON.parse(item.arguments ?? '{}') as JsonValue,
  }));
  await assertRequested(
    worker,
    run.runId,
    toolCalls.map(({ toolCallId }) => toolCallId),
    signal,
  );
  const { results, pendingApprovals } = await worker.ask(
    { ...run, toolCalls },
    { timeoutMs, signal, context: { runContext: state._context } },
  );
  const waiting = new Set(pendingApprovals.map(({ toolCallId }) => toolCallId));
  for (const item of items) {
    const toolCallId = callIdOf(item);
    if (waiting.has(toolCallId)) continue;
    const result = results.find((one) => one.toolCallId === toolCallId);
    // The tool itself gives the recorded result, or runs.
    if (result === undefined || !didNotRun(result)) state.approve(item);
    else state.reject(item, { message: modelText(result) });
  }
  return { state, pending: pendingApprovals };
}

/**
 * Returns the ids of all calls in a stored state with their arguments, also in those of nested agents, which are strings in it.
 * Attack: a client adds a call that is not among the interruptions, and that needs no approval.
 */
export function callsIn(stored: string): ReadonlyMap<string, JsonValue | undefined> {
  const calls = new Map<string, JsonValue | undefined>();
  const add = (callId: string, args: JsonValue | undefined): void => {
    calls.set(callId, calls.get(callId) ?? args);
  };
  const visit = (_key: string, value: unknown): unknown => {
    if (typeof value === 'string' && /^\s*\{/.test(value)) for (const call of callsIn(value)) add(...call);
    if (isCall(value)) add(value.callId, argumentsOf(value));
    return value;
  };
  try {
    JSON.parse(stored, visit);
  } catch {
    // It is no state but a text.
  }
  return calls;
}

interface Call {
  readonly callId: string;
  readonly arguments?: unknown;
}

function isCall(value: unknown): value is Call {
  return typeof value === 'object' && value !== null && 'callId' in value && typeof value.callId === 'string';
}

function argumentsOf({ arguments: args }: Call): JsonValue | undefined {
  try {
    return typeof args === 'string' ? (JSON.parse(args) as JsonValue) : undefined;
  } catch {
    // The model wrote no JSON.
    return undefined;
  }
}

function callIdOf({ rawItem }: RunToolApprovalItem): string {
  return rawItem.type === 'function_call' ? rawItem.callId : '';
}
