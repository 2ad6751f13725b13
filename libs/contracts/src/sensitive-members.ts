import type { JsonObject, JsonValue } from './json.js';
import { looksSecret } from './sensitive-names.js';

const nameKeys = ['name', 'key', 'header', 'headerName', 'field', 'param', 'parameter', 'parameterKey', 'variable'];
const valueKeys = ['value', 'values', 'val', 'headerValue', 'content', 'data', 'parameterValue', 'secretValue'];
const namers = new Set(nameKeys.map((key) => key.toLowerCase()));
const values = new Set(valueKeys.map((key) => key.toLowerCase()));

/** A list or an object. */
export type JsonContainer = JsonObject | readonly JsonValue[];

/** Returns whether a value is a list or an object. */
export function isContainer(value: JsonValue | undefined): value is JsonContainer {
  return typeof value === 'object' && value !== null;
}

/** The members of a list or an object, each with its name or index. */
export function membersOf(container: JsonContainer): (readonly [string, JsonValue])[] {
  return Object.entries(container);
}

/**
 * Calls back for each member of a container with whether its name is secret: its own name, or that of its name-value
 * pair: `{ "name": "Authorization", "value": … }`, `["Authorization", …]`.
 */
export function secretMembersOf(container: JsonContainer): (key: string) => boolean {
  if (Array.isArray(container)) {
    const [name] = container as readonly JsonValue[];
    const isPair = container.length === 2 && typeof name === 'string' && looksSecret(name);
    return (key) => isPair && key === '1';
  }
  const isPair = Object.entries(container).some(([key, value]) => isSecretNamer(key, value));
  return (key) => looksSecret(key) || (isPair && isPairValue(key));
}

/** Returns whether a member names its sibling as secret: `"name": "Authorization"`. */
export function isSecretNamer(key: string, value: JsonValue | undefined): boolean {
  return typeof value === 'string' && namers.has(shortLower(key)) && looksSecret(value);
}

/** Returns whether a member is the value of a pair, by its name. */
export function isPairValue(key: string): boolean {
  return values.has(shortLower(key));
}

/** Normalised as in the sets: `header_name` and `Header-Name` are `headername`. No pair name is longer. */
function shortLower(key: string): string {
  if (key.length > 20) return '';
  const lower = key.toLowerCase();
  return lower.includes('_') || lower.includes('-') ? lower.replaceAll(/[_-]/g, '') : lower;
}
