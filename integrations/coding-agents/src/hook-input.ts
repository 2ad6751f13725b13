import type { JsonObject, JsonValue } from '@countersign/contracts';
import { HookInputError, type AgentCall, type AgentEnd, type CodingAgent } from './agent.js';

/** The names under which an agent's hooks send the parts of a call. */
export interface FieldNames {
  readonly session: string;
  readonly tool: string;
  readonly args: string;
  readonly id?: string;
}

/** Parses the input of a hook. Throws a `HookInputError`. */
export function parseHookInput(bytes: Uint8Array): JsonObject {
  const text = textOf(bytes);
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch {
    throw new HookInputError('the input of the hook is not JSON');
  }
  return objectIn(value) ?? fail('the input of the hook is not a JSON object');
}

/** The attack: all bytes that are not UTF-8 would become the same character, and one approval would fit many commands. */
function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new HookInputError('the input of the hook cannot be read: it is not UTF-8');
  }
}

/** Throws a `HookInputError` when the agent ran the hook for another event than that before a tool. */
export function checkBeforeEvent({ beforeEvent }: CodingAgent, input: JsonObject): void {
  const event = textIn(input, 'hook_event_name') ?? beforeEvent;
  if (event === beforeEvent || beforeEvent === undefined) return;
  const remedy = 'Add --post to the command of a hook after a tool.';
  throw new HookInputError(`the hook is for ${beforeEvent}, and the agent ran it for ${String(event)}`, remedy);
}

/** Returns whether the agent ran the hook before a tool. False where it sends no name of the event. */
export function isBeforeEvent({ beforeEvent }: CodingAgent, input: JsonObject): boolean {
  return beforeEvent !== undefined && input['hook_event_name'] === beforeEvent;
}

/** Returns a function that reads a call out of the input of a hook. */
export function callReader(names: FieldNames): (input: JsonObject) => AgentCall {
  return (input) => ({
    sessionId: textIn(input, names.session) ?? fail(`the input of the hook has no "${names.session}"`),
    toolName: textIn(input, names.tool) ?? fail(`the input of the hook has no "${names.tool}"`),
    args: argumentsIn(input[names.args]) ?? fail(`"${names.args}" in the input of the hook is not an object`),
    id: names.id === undefined ? undefined : textIn(input, names.id),
    cwd: textIn(input, 'cwd'),
  });
}

/** Returns a function that reads how a tool ended: with an error in one field, or with an output in another. */
export function endReader(
  readCall: (input: JsonObject) => AgentCall,
  names: { readonly output: string; readonly error: string },
): (input: JsonObject) => AgentEnd {
  return (input) => {
    const call = readCall(input);
    const error = textIn(input, names.error);
    if (error !== undefined) return { call, status: 'failed', result: error };
    return { call, status: 'succeeded', result: input[names.output] ?? null };
  };
}

/** A text that is not empty; undefined where there is none. */
export function textIn(input: JsonObject, name: string): string | undefined {
  const value = input[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** The value as an object; undefined for any other value. */
export function objectIn(value: JsonValue | undefined): JsonObject | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
}

/** Some agents send the arguments as JSON in a text. */
function argumentsIn(value: JsonValue | undefined): JsonObject | undefined {
  if (typeof value !== 'string') return objectIn(value);
  try {
    return objectIn(JSON.parse(value) as JsonValue);
  } catch {
    return undefined;
  }
}

function fail(message: string): never {
  throw new HookInputError(message);
}
