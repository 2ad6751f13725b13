import { argumentsDigest, jcsDigest, type JsonObject, type ToolCallView } from '@countersign/contracts';
import { didNotRun, resultOf, whyUnrecordable, type Client } from '@countersign/worker-sdk';
import type { AgentCall } from './agent.js';
import type { Marks } from './marks.js';

/** A call of the agent in the ledger: its id there, and its state if it is recorded. */
export interface KnownCall {
  readonly toolCallId: string;
  readonly view: ToolCallView | undefined;
}

/** The newest calls of a session that an agent with ids is compared with: a retry comes soon. */
const pageSize = 100;

/**
 * Recognises a call that the agent makes again. Equal tool and arguments in a session are the same call until the agent
 * has been told its end; the agent's own id names the same call for ever. A call that ran is another one.
 */
export async function findSameCall(
  client: Client,
  marks: Marks,
  call: AgentCall,
  signal: AbortSignal,
): Promise<KnownCall> {
  checkArguments(call.args);
  const key = actionKey(call.toolName, call.args);
  let newest: ToolCallView | undefined;
  for await (const view of callsOf(client, call, signal)) {
    if (view.toolCallId === call.id) return callOfId(view, call.id, key);
    newest ??= keysOf(view).includes(key) ? view : undefined;
    if (newest !== undefined && call.id === undefined) break;
  }
  if (newest !== undefined && isStillTheSame(newest, marks, call))
    return { toolCallId: newest.toolCallId, view: newest };
  return { toolCallId: call.id ?? nextId(key, newest), view: undefined };
}

function checkArguments(args: JsonObject): void {
  const problem = whyUnrecordable(args);
  if (problem !== undefined) throw new TypeError(problem);
}

/** The call of the agent's own id. The ledger refuses that id with other arguments. */
function callOfId(view: ToolCallView, toolCallId: string, key: string): KnownCall {
  return { toolCallId, view: keysOf(view).includes(key) ? view : undefined };
}

/** Finds the call that the agent reports as done: that of its id, or the newest equal one that was allowed to run. */
export async function findRunningCall(
  client: Client,
  call: AgentCall,
  signal: AbortSignal,
): Promise<ToolCallView | undefined> {
  const key = actionKey(call.toolName, call.args);
  let newest: ToolCallView | undefined;
  for await (const view of callsOf(client, call, signal)) {
    if (view.state !== 'executing' && view.state !== 'unknown') continue;
    if (view.toolCallId === call.id) return view;
    newest ??= keysOf(view).includes(key) ? view : undefined;
    if (newest !== undefined && call.id === undefined) break;
  }
  return newest;
}

/** The mark of the attempt that the hook before the tool was given: the hook after it reports that one. */
export function attemptMark({ callId }: ToolCallView, { id }: AgentCall): string {
  return `attempt_${jcsDigest([callId, id ?? null]).slice('sha256:'.length)}`;
}

/** The newest calls of the tool in the session first. Without an id of its own an agent may repeat a call after any time. */
async function* callsOf(client: Client, call: AgentCall, signal: AbortSignal): AsyncGenerator<ToolCallView> {
  const { sessionId: runId, toolName, id } = call;
  const list = { runId, toolName, order: 'newest', limit: pageSize, signal } as const;
  if (id === undefined) yield* client.eachToolCall(list);
  else yield* (await client.listToolCalls(list)).calls;
}

function isStillTheSame(view: ToolCallView, marks: Marks, call: AgentCall): boolean {
  switch (view.state) {
    case 'awaiting_approval':
    case 'approved':
    case 'allowed':
      return true;
    case 'executing':
      return call.id === undefined;
    default:
      return !hasRun(view) && marks.get(view.callId) === undefined;
  }
}

/** Returns whether the call was allowed to run: every end but a refusal, and the answer of a person. */
export function hasRun(view: ToolCallView): boolean {
  const result = resultOf(view);
  return view.state === 'executing' || (result !== undefined && !didNotRun(result) && !result.answered);
}

function nextId(key: string, newest: ToolCallView | undefined): string {
  const number = Number(/_(\d+)$/.exec(newest?.toolCallId ?? '')?.[1] ?? 0) + 1;
  return `hook_${key}_${String(number)}`;
}

/** The call as it was made and, after an edit, as it may run. */
function keysOf({ toolName, arguments: args, originalArguments = args }: ToolCallView): readonly string[] {
  return [actionKey(toolName, originalArguments), actionKey(toolName, args)];
}

function actionKey(toolName: string, args: JsonObject): string {
  return argumentsDigest(toolName, args)
    .replace(/^sha256:/, '')
    .slice(0, 32);
}
