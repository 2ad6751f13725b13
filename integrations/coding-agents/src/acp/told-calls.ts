import type { JsonObject, JsonValue } from '@countersign/contracts';
import type { AgentEnd } from '../agent.js';
import { objectIn, textIn } from '../hook-input.js';

/** The parts of each open tool call that the agent has told so far, by `keyOf`. */
export type ToldCalls = Map<string, JsonObject>;

/** The key of a call among those of all sessions. */
export function keyOf(sessionId: string, toolCallId: string): string {
  return JSON.stringify([sessionId, toolCallId]);
}

/** The tool call with what an update adds. A null member keeps its value. */
export function merged(known: JsonObject = {}, update: JsonObject): JsonObject {
  return { ...known, ...Object.fromEntries(Object.entries(update).filter(([, value]) => value !== null)) };
}

/** How a tool ended. */
export interface ToolEnd extends Omit<AgentEnd, 'call'> {
  readonly key: string;
}

/** Keeps what a message of the agent tells of a tool call. Returns the end of the tool if it tells that. */
export function hearUpdate(message: JsonObject, told: ToldCalls): ToolEnd | undefined {
  if (message['method'] !== 'session/update') return undefined;
  const params = objectIn(message['params']) ?? {};
  const update = objectIn(params['update']) ?? {};
  const toolCallId = textIn(update, 'toolCallId');
  if (toolCallId === undefined) return undefined;
  const key = keyOf(textIn(params, 'sessionId') ?? '', toolCallId);
  const toolCall = merged(told.get(key), update);
  told.set(key, toolCall);
  const { status } = toolCall;
  if (status !== 'completed' && status !== 'failed') return undefined;
  told.delete(key);
  return { key, status: status === 'completed' ? 'succeeded' : 'failed', result: resultOf(toolCall) };
}

function resultOf({ rawOutput, content = null }: JsonObject): JsonValue {
  return rawOutput ?? content;
}
