import type { JsonObject, JsonValue } from './json.js';

/** Keywords of a schema with data in them. */
const dataKeywords = ['const', 'enum', 'default', 'examples', 'example'];

/** Returns whether a schema marks its value as sensitive, as the library that reads schemas does. */
export function isMarkedSchema(schema: JsonObject): boolean {
  const { sensitive, 'x-sensitive': extension, writeOnly, format } = schema;
  const isPassword = typeof format === 'string' && format.toLowerCase() === 'password';
  return isPassword || [sensitive, extension, writeOnly].some(isYes);
}

/** Writers without a type for it send a text or a number. */
function isYes(mark: JsonValue | undefined): boolean {
  return mark === true || mark === 1 || (typeof mark === 'string' && /^(?:true|yes|1)$/i.test(mark));
}

/**
 * A copy of a tool's schema for people who may not see the hidden values of its arguments. A default, a constant or an
 * example under a mark is left out, and so is one that has a hidden value in it: lists as a whole, so that a gap tells
 * nothing.
 */
export function maskSchema(schema: JsonObject, args: JsonObject, pointers: readonly string[]): JsonObject {
  const hidden = new Set(pointers.flatMap((pointer) => leavesOf(valueAt(args, pointer))));
  const shown = (value: JsonValue, isMarked: boolean): JsonValue => {
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return (value as readonly JsonValue[]).map((one) => shown(one, isMarked));
    const object = value as JsonObject;
    const isInside = isMarked || isMarkedSchema(object);
    const tells = ([name, member]: readonly [string, JsonValue]): boolean =>
      dataKeywords.includes(name) && (isInside || leavesOf(member).some((leaf) => hidden.has(leaf)));
    const kept = Object.entries(object).filter((member) => !tells(member));
    return Object.fromEntries(kept.map(([name, member]) => [name, shown(member, isInside)]));
  };
  return shown(schema, false) as JsonObject;
}

/** Texts, numbers and the like in a value. */
function leavesOf(value: JsonValue | undefined): readonly JsonValue[] {
  if (value === undefined || value === null) return [];
  return typeof value === 'object' ? Object.values<JsonValue>(value as JsonObject).flatMap(leavesOf) : [value];
}

function valueAt(value: JsonObject, pointer: string): JsonValue | undefined {
  let at: JsonValue | undefined = value;
  for (const step of pointer.split('/').slice(1)) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return undefined;
    at = (at as JsonObject)[name];
  }
  return at;
}
