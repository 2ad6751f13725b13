import type { JsonObject, JsonValue } from '@countersign/contracts';
import { HookInputError, type AgentCall, type AgentEnd } from './agent.js';

/** The names under which an agent's hooks send the parts of a call. */
export interface FieldNames {
  readonly session: string;
  readonly tool: string;
  readonly args: string;
  readonly id?: string;
}

/** Parses the input of a hook. Throws a `HookInputError`. */
export function parseHookInput(text: string): JsonObject {
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch {
    throw new HookInputError('the input of the hook is not JSON');
  }
  return objectIn(value) ?? fail('the input of the hook is not a JSON object');
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
  if (value === undefined) return {};
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
