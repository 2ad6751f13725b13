import { argumentsDigest, jcsDigest, type JsonObject, type ToolCallView } from '@countersign/contracts';
import { didNotRun, resultOf, whyUnrecordable, type Client } from '@countersign/worker-sdk';
import type { AgentCall } from './agent.js';
import { placeIdOf } from './folder.js';
import type { Marks } from './marks.js';

/** A call of the agent in the ledger: its id there, and its state if it is recorded. */
export interface KnownCall {
  readonly toolCallId: string;
  readonly view: ToolCallView | undefined;
}

/** An agent with ids is compared with so many of the newest calls of the tool, and with all that may still run. */
const pageSize = 100;
const openStates = ['awaiting_approval', 'approved', 'allowed'] as const;

/**
 * Recognises a call that the agent makes again. Equal tool, server, arguments and folder in a session are the same call until
 * the agent has been told its end; the agent's own id names the same call for ever. A call that ran is another one. The
 * attack: people approve a call in one folder or of one server, and the agent makes the same call in another.
 */
export async function findSameCall(
  client: Client,
  marks: Marks,
  call: AgentCall,
  signal: AbortSignal,
): Promise<KnownCall> {
  checkArguments(call.args);
  const key = keyOf(call);
  const { own, newest, numbered } = await findEqual(client, call, key, signal);
  if (own !== undefined) return callOfId(own, own.toolCallId, key);
  if (newest !== undefined && isStillTheSame(newest, marks, call))
    return { toolCallId: newest.toolCallId, view: newest };
  return { toolCallId: call.id ?? nextId(key, numbered), view: undefined };
}

/** The recorded calls of the session that may be this one. */
interface Equal {
  /** The call of the agent's own id. */
  readonly own?: ToolCallView;
  /** The newest with the same tool and arguments, also one that an edit gave them. */
  readonly newest?: ToolCallView | undefined;
  /** The newest that the hook itself gave a number for this tool and these arguments. */
  readonly numbered?: ToolCallView | undefined;
}

async function findEqual(client: Client, call: AgentCall, key: string, signal: AbortSignal): Promise<Equal> {
  let newest: ToolCallView | undefined;
  let numbered: ToolCallView | undefined;
  for await (const view of callsOf(client, call, signal)) {
    if (view.toolCallId === call.id) return { own: view };
    newest ??= keysOf(view).includes(key) ? view : undefined;
    numbered ??= view.toolCallId.startsWith(idPrefix(key)) ? view : undefined;
    if (numbered !== undefined && call.id === undefined) break;
  }
  return { newest, numbered };
}

function checkArguments(args: JsonObject): void {
  const problem = whyUnrecordable(args);
  if (problem !== undefined) throw new TypeError(problem);
}

/** The call of the agent's own id. The ledger refuses that id with other arguments, and in another folder. */
function callOfId(view: ToolCallView, toolCallId: string, key: string): KnownCall {
  return { toolCallId, view: keysOf(view).includes(key) ? view : undefined };
}

/**
 * Finds the call that the agent reports as done, among those that were allowed to run: the call of its id, one that was
 * allowed under this id or, for an agent without ids, the newest equal one.
 */
export async function findRunningCall(
  client: Client,
  marks: Marks,
  call: AgentCall,
  signal: AbortSignal,
): Promise<ToolCallView | undefined> {
  const { sessionId: runId, toolName, id } = call;
  const key = keyOf(call);
  const list = { runId, toolName, state: ['executing', 'unknown'], order: 'newest', limit: pageSize, signal } as const;
  for await (const view of client.eachToolCall(list)) {
    if (id === undefined && keysOf(view).includes(key)) return view;
    if (id !== undefined && (view.toolCallId === id || marks.get(attemptMark(view, call)) !== undefined)) return view;
  }
  return undefined;
}

/** The mark of the attempt that the hook before the tool was given: the hook after it reports that one. */
export function attemptMark({ callId }: ToolCallView, { id }: AgentCall): string {
  return `attempt_${jcsDigest([callId, id ?? null]).slice('sha256:'.length)}`;
}

/** The newest calls of the tool in the session first. Without an id of its own an agent may repeat a call after any time. */
async function* callsOf(client: Client, call: AgentCall, signal: AbortSignal): AsyncGenerator<ToolCallView> {
  const { sessionId: runId, toolName, id } = call;
  const list = { runId, toolName, order: 'newest', limit: pageSize, signal } as const;
  if (id === undefined) return yield* client.eachToolCall(list);
  const { calls, nextCursor } = await client.listToolCalls(list);
  yield* calls;
  if (nextCursor !== null) yield* client.eachToolCall({ ...list, state: openStates });
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

function nextId(key: string, numbered: ToolCallView | undefined): string {
  const number = Number(/_(\d+)$/.exec(numbered?.toolCallId ?? '')?.[1] ?? 0) + 1;
  return `${idPrefix(key)}${String(number)}`;
}

function idPrefix(key: string): string {
  return `hook_${key}_`;
}

/** The call as it was made and, after an edit, as it may run. */
function keysOf({ toolName, batchId, arguments: args, originalArguments = args }: ToolCallView): readonly string[] {
  return [actionKey(toolName, originalArguments, batchId), actionKey(toolName, args, batchId)];
}

function keyOf({ toolName, args, cwd, server }: AgentCall): string {
  return actionKey(toolName, args, cwd === undefined ? null : placeIdOf({ cwd, server }));
}

function actionKey(toolName: string, args: JsonObject, placeId: string | null): string {
  return jcsDigest([argumentsDigest(toolName, args), placeId])
    .replace(/^sha256:/, '')
    .slice(0, 32);
}
