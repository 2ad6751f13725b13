import type { JsonObject, JsonValue } from '@countersign/contracts';

/** The names of a JSON pointer (RFC 6901). */
export function namesIn(pointer: string): readonly string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/**
 * The same value with another one at a place, or without the place (`undefined`). Everything beside the way there is the very
 * object that it was. An item that is removed moves the later ones up.
 */
export function setAt(value: JsonValue, pointer: string, next: JsonValue | undefined): JsonValue {
  return setIn(value, namesIn(pointer), next);
}

function setIn(value: JsonValue, [name, ...rest]: readonly string[], next: JsonValue | undefined): JsonValue {
  if (name === undefined) return next ?? null;
  const inside = (before: JsonValue): JsonValue => (rest.length === 0 ? (next ?? null) : setIn(before, rest, next));
  const isRemoved = rest.length === 0 && next === undefined;
  if (typeof value !== 'object' || value === null) return value;
  return isList(value)
    ? setInList(value, Number(name), inside, isRemoved)
    : setInObject(value, name, inside, isRemoved);
}

type Inside = (before: JsonValue) => JsonValue;

function setInList(list: readonly JsonValue[], index: number, inside: Inside, isRemoved: boolean): JsonValue {
  if (isRemoved) return list.filter((_, at) => at !== index);
  return index < list.length ? list.with(index, inside(list[index] ?? null)) : [...list, inside({})];
}

/** From entries, so that a member named `__proto__` is a member. */
function setInObject(object: JsonObject, name: string, inside: Inside, isRemoved: boolean): JsonValue {
  const members = Object.entries(object);
  const at = members.findIndex(([known]) => known === name);
  if (isRemoved) return Object.fromEntries(members.filter((_, index) => index !== at));
  const member: readonly [string, JsonValue] = [name, inside(at === -1 ? {} : (members[at]?.[1] ?? null))];
  return Object.fromEntries(at === -1 ? [...members, member] : members.with(at, [...member]));
}

function isList(value: object): value is readonly JsonValue[] {
  return Array.isArray(value);
}
