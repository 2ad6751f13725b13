import type { JsonObject, JsonValue } from './json.js';
import { erasedMark, keyMissingMark } from './sensitive-mask.js';
import { looksSecret } from './sensitive-names.js';

/** Keywords of a schema with data in them. */
const dataKeywords = ['const', 'enum', 'default', 'examples', 'example'];
/** Keywords of a schema whose text may repeat a value. */
const textKeywords = ['title', 'description', '$comment', 'pattern'];
/** Keywords with schemas by name: a name in them is no keyword. */
const schemaMaps = ['properties', 'patternProperties', 'dependentSchemas', '$defs', 'definitions'];
/** References by name, and the names. */
const anchorKeywords = ['$anchor', '$dynamicAnchor', '$dynamicRef', '$recursiveRef'];
/** A shorter hidden text is found in texts that do not tell it. */
const toldCharsMin = 4;

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
 * example is left out where a mark stands at it, around it, inside it or behind a reference, and where it has a hidden value
 * in it: lists as a whole, so that a gap tells nothing. A text that repeats a hidden value is left out, too. After an erasure
 * nothing says which of them has the erased value, so all of them are left out.
 */
export function maskSchema(schema: JsonObject, args: JsonObject, pointers: readonly string[]): JsonObject {
  const hidden = new Set(pointers.flatMap((pointer) => leavesOf(valueAt(args, pointer))));
  const isErased = hidden.has(erasedMark) || hidden.has(keyMissingMark);
  const texts = [...hidden].filter((leaf) => typeof leaf === 'string' && leaf.length >= toldCharsMin) as string[];
  const tells = (leaf: JsonValue): boolean =>
    hidden.has(leaf) || (typeof leaf === 'string' && texts.some((text) => leaf.includes(text)));
  const marked = markedParts(schema, new Set(pointers.flatMap(lastNameOf)));
  const isLeftOut = (part: JsonObject, name: string, member: JsonValue): boolean => {
    if (textKeywords.includes(name)) return isErased || tells(member);
    return dataKeywords.includes(name) && (isErased || marked.has(part) || leavesOf(member).some(tells));
  };
  const shown = (value: JsonValue, isMap: boolean): JsonValue => {
    if (Array.isArray(value)) return (value as readonly JsonValue[]).map((one) => shown(one, false));
    if (!isObject(value)) return value;
    const kept = Object.entries(value).filter(([name, member]) => isMap || !isLeftOut(value, name, member));
    return Object.fromEntries(kept.map(([name, member]) => [name, shown(member, !isMap && schemaMaps.includes(name))]));
  };
  return shown(schema, false) as JsonObject;
}

/** The parts of a schema whose data may tell a value that is marked, or that has one of these names. */
function markedParts(schema: JsonObject, names: ReadonlySet<string>): ReadonlySet<JsonObject> {
  const isHidden = (name: string): boolean => names.has(name) || looksSecret(name);
  const inner = new Map<JsonObject, JsonObject[]>();
  const outer = new Map<JsonObject, JsonObject[]>();
  const marks: JsonObject[] = [];
  // A reference by name may lead to any of them, so they all count as marked where there is a mark.
  const anchors: JsonObject[] = [];
  const link = (from: JsonObject, to: JsonObject): void => {
    inner.set(from, [...(inner.get(from) ?? []), to]);
    outer.set(to, [...(outer.get(to) ?? []), from]);
  };
  const visit = (value: JsonValue, around: JsonObject | undefined, isMap: boolean): void => {
    if (Array.isArray(value)) for (const one of value as readonly JsonValue[]) visit(one, around, false);
    if (!isObject(value)) return;
    if (around !== undefined) link(around, value);
    if (isMap) readNames(value);
    else readKeywords(value);
  };
  const readNames = (named: JsonObject): void => {
    for (const [name, part] of Object.entries(named)) {
      if (isObject(part) && isHidden(name)) marks.push(part);
      visit(part, named, false);
    }
  };
  const readKeywords = (part: JsonObject): void => {
    if (isMarkedSchema(part)) marks.push(part);
    if (anchorKeywords.some((name) => Object.hasOwn(part, name))) anchors.push(part);
    if (typeof part['$ref'] === 'string') {
      const target = targetOf(schema, part['$ref']);
      if (target === undefined) anchors.push(part);
      else link(part, target);
    }
    for (const [name, member] of Object.entries(part))
      if (!dataKeywords.includes(name)) visit(member, part, schemaMaps.includes(name));
  };
  visit(schema, undefined, false);
  if (marks.length > 0) marks.push(...anchors);
  return new Set([...reached(marks, inner), ...reached(marks, outer)]);
}

function reached(from: readonly JsonObject[], links: ReadonlyMap<JsonObject, readonly JsonObject[]>): Set<JsonObject> {
  const found = new Set(from);
  for (const one of found) for (const next of links.get(one) ?? []) found.add(next);
  return found;
}

function targetOf(schema: JsonObject, reference: string): JsonObject | undefined {
  const target = reference.startsWith('#') ? valueAt(schema, reference.slice(1)) : undefined;
  return isObject(target) ? target : undefined;
}

/** The name of a hidden argument, or of the list that it is in. */
function lastNameOf(pointer: string): readonly string[] {
  return stepsOf(pointer)
    .filter((step) => !/^\d+$/.test(step))
    .slice(-1);
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Texts, numbers and the like in a value. */
function leavesOf(value: JsonValue | undefined): readonly JsonValue[] {
  if (value === undefined || value === null) return [];
  return typeof value === 'object' ? Object.values<JsonValue>(value as JsonObject).flatMap(leavesOf) : [value];
}

function stepsOf(pointer: string): readonly string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function valueAt(value: JsonObject, pointer: string): JsonValue | undefined {
  let at: JsonValue | undefined = value;
  for (const name of stepsOf(pointer)) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return undefined;
    at = (at as JsonObject)[name];
  }
  return at;
}
