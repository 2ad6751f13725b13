import type { JsonObject, JsonValue } from '@countersign/contracts';
import { isFound } from './assertions.js';
import { evaluateMember, isEnough, judge, probe } from './evaluate.js';
import type { Evaluated } from './evaluated.js';
import { isBefore2019, isObject } from './keyword.js';
import type { Keyword } from './keyword.js';
import type { Pattern } from './patterns.js';
import { fail, shortened } from './run.js';
import type { Run } from './run.js';
import type { Check, SchemaNode, SchemaParts } from './schema-node.js';
import { spend } from './work.js';

const properties: Keyword = (value, place, keyword) => {
  for (const [name, part] of place.subschemas(value, keyword)) place.node.parts.properties.set(name, part);
};

const patternProperties: Keyword = (value, place, keyword) => {
  for (const [text, part] of place.subschemas(value, keyword)) {
    const pattern = place.pattern(text, keyword, text);
    place.node.parts.patternProperties.push([pattern ?? null, part]);
  }
};

const single =
  (part: 'additionalProperties' | 'propertyNames' | 'unevaluatedProperties' | 'unevaluatedItems'): Keyword =>
  (value, place) => {
    place.node.parts[part] = place.subschema(value, part);
    if (part.startsWith('unevaluated')) place.track();
  };

const prefixItems: Keyword = (value, place, keyword) => {
  if (!Array.isArray(value)) {
    place.note('must be a list of schemas', keyword);
    return;
  }
  const parts = (value as readonly JsonValue[]).map((one, index) => place.subschema(one, keyword, index));
  place.node.parts.prefixItems.push(...parts);
};

const items: Keyword = (value, place, keyword) => {
  // A list is no schema in 2020-12. Tools that write one mean the items one by one, as before.
  const isTuple = Array.isArray(value);
  if (!isTuple) place.node.parts.items = place.subschema(value, keyword);
  else {
    prefixItems(value, place, keyword);
    const more = Object.hasOwn(place.schema, 'additionalItems') ? place.schema['additionalItems'] : undefined;
    if (more !== undefined) place.node.parts.items = place.subschema(more, 'additionalItems');
  }
};

const contains: Keyword = (value, place, keyword) => {
  const part = place.subschema(value, keyword);
  place.node.parts.contains = part;
  const counted = !isBefore2019(place.dialect);
  // Since 2020-12 an item that `contains` found is an evaluated one.
  const notes = counted && place.dialect !== '2019-09';
  const bound = (name: 'minContains' | 'maxContains', absent: number): number => {
    const given = counted && Object.hasOwn(place.schema, name) ? place.schema[name] : absent;
    if (typeof given === 'number' && given >= 0) return given;
    place.note('must be a whole number, 0 or more', name);
    return absent;
  };
  const min = bound('minContains', 1);
  const max = bound('maxContains', Infinity);
  place.node.checks.array.push((list, run, seen) => {
    const { sure, unsure } = countFitting(part, list, run, notes ? seen : null);
    if (unsure > 0) run.isDoubtful = true;
    return (sure + unsure >= min && sure <= max) || fail(run, () => `must contain at least ${min} valid item(s)`);
  });
};

function countFitting(part: SchemaNode, list: readonly JsonValue[], run: Run, seen: Evaluated | null) {
  const counts = { sure: 0, unsure: 0 };
  for (const [index, item] of list.entries()) {
    if (run.work.left < 0) break;
    const judged = judge(part, item, run, null);
    if (judged === 'fails') continue;
    counts[judged === 'fits' ? 'sure' : 'unsure'] += 1;
    seen?.items.add(index);
  }
  return counts;
}

/** The keywords about the members of objects and lists. */
export const memberKeywords: readonly (readonly [string, Keyword])[] = [
  ['properties', properties],
  ['patternProperties', patternProperties],
  ['additionalProperties', single('additionalProperties')],
  ['propertyNames', single('propertyNames')],
  ['prefixItems', prefixItems],
  ['items', items],
  ['contains', contains],
  ['unevaluatedProperties', single('unevaluatedProperties')],
  ['unevaluatedItems', single('unevaluatedItems')],
];

/** Adds the checks of all keywords about members, which depend on one another. */
export function addMemberChecks({ checks, parts }: SchemaNode): void {
  const { additionalProperties, unevaluatedProperties, unevaluatedItems } = parts;
  if (parts.patternProperties.length > 0 || additionalProperties !== undefined) {
    checks.object.push(everyMember(parts));
  } else if (parts.properties.size > 0) checks.object.push(knownMembers([...parts.properties]));
  if (parts.propertyNames !== undefined) checks.object.push(everyName(parts.propertyNames));
  if (parts.prefixItems.length > 0 || parts.items !== undefined) checks.array.push(everyItem(parts));
  if (unevaluatedProperties !== undefined) checks.last.push(otherMembers(unevaluatedProperties));
  if (unevaluatedItems !== undefined) checks.last.push(otherItems(unevaluatedItems));
}

function memberOf(value: JsonObject, name: string): JsonValue {
  return value[name] ?? null;
}

function knownMembers(entries: readonly (readonly [string, SchemaNode])[]): Check<JsonObject> {
  return (value, run, seen) => {
    spend(run.work, entries.length >> 2);
    let fits = true;
    for (const [name, part] of entries) {
      if (!Object.hasOwn(value, name)) continue;
      seen?.names.add(name);
      if (evaluateMember(part, memberOf(value, name), name, run)) continue;
      if (isEnough(run)) return false;
      fits = false;
    }
    return fits;
  };
}

function everyMember(parts: SchemaParts): Check<JsonObject> {
  return (value, run, seen) => {
    let fits = true;
    for (const name of Object.keys(value)) {
      if (!spend(run.work, 1)) return false;
      if (memberFits(parts, value, name, run, seen)) continue;
      if (isEnough(run)) return false;
      fits = false;
    }
    return fits;
  };
}

function memberFits(parts: SchemaParts, value: JsonObject, name: string, run: Run, seen: Evaluated | null): boolean {
  const child = memberOf(value, name);
  const known = parts.properties.get(name);
  const { isMatched, fits: fitsPatterns } = patternsFit(parts, child, name, run);
  let isKnown = isMatched || known !== undefined;
  let fits = (known === undefined || evaluateMember(known, child, name, run)) && fitsPatterns;
  // Without budget a pattern has matched nothing.
  if (run.work.left < 0) return false;
  if (!isKnown && parts.additionalProperties !== undefined) {
    isKnown = true;
    fits = additionalFits(parts.additionalProperties, child, name, run);
  }
  if (isKnown) seen?.names.add(name);
  return fits;
}

const noPatterns = { isMatched: false, fits: true };

function patternsFit({ patternProperties }: SchemaParts, child: JsonValue, name: string, run: Run) {
  if (patternProperties.length === 0) return noPatterns;
  let isMatched = false;
  let fits = true;
  for (const [pattern, part] of patternProperties) {
    const match = matchOf(pattern, name, run);
    isMatched ||= match !== 'none';
    if (match === 'found') fits = evaluateMember(part, child, name, run) && fits;
  }
  return { isMatched, fits };
}

/** A pattern that cannot be checked may match. */
function matchOf(pattern: Pattern | null, name: string, run: Run): 'found' | 'none' | 'unsure' {
  if (pattern !== null) return isFound(pattern, name, run) ? 'found' : 'none';
  run.isDoubtful = true;
  return 'unsure';
}

function additionalFits(part: SchemaNode, child: JsonValue, name: string, run: Run): boolean {
  if (part.verdict === null) return evaluateMember(part, child, name, run);
  return part.verdict || fail(run, () => `must NOT have additional properties (${shortened(name)})`);
}

function everyName(part: SchemaNode): Check<JsonObject> {
  return (value, run) => {
    for (const name of Object.keys(value)) {
      if (run.work.left < 0) return false;
      if (!probe(part, name, run, null)) {
        return fail(run, () => `property name must be valid (${shortened(name)})`);
      }
    }
    return true;
  };
}

function everyItem({ prefixItems: prefix, items: rest }: SchemaParts): Check<readonly JsonValue[]> {
  const restFits = rest?.verdict === true ? undefined : rest;
  return (list, run, seen) => {
    let fits = true;
    const end = restFits === undefined ? Math.min(prefix.length, list.length) : list.length;
    for (let index = 0; index < end; index += 1) {
      const part = prefix[index] ?? restFits;
      if (part === undefined || evaluateMember(part, list[index] ?? null, index, run)) continue;
      if (isEnough(run)) return false;
      fits = false;
    }
    if (seen !== null) noteItems(seen, rest !== undefined, prefix.length, list.length);
    return fits;
  };
}

function noteItems(seen: Evaluated, all: boolean, prefix: number, length: number): void {
  if (all) seen.allItems = true;
  for (let index = 0; index < Math.min(prefix, length); index += 1) seen.items.add(index);
}

function otherMembers(part: SchemaNode): Check<JsonValue> {
  return (value, run, seen) => {
    if (!isObject(value) || seen === null || seen.allNames) return true;
    for (const name of Object.keys(value)) {
      if (!spend(run.work, 1)) return false;
      if (seen.names.has(name) || evaluateMember(part, memberOf(value, name), name, run)) continue;
      return part.verdict === null
        ? false
        : fail(run, () => `must NOT have unevaluated properties (${shortened(name)})`);
    }
    seen.allNames = true;
    return true;
  };
}

function otherItems(part: SchemaNode): Check<JsonValue> {
  return (value, run, seen) => {
    if (!Array.isArray(value) || seen === null || seen.allItems) return true;
    for (const [index, item] of (value as readonly JsonValue[]).entries()) {
      if (!spend(run.work, 1)) return false;
      if (!seen.items.has(index) && !evaluateMember(part, item, index, run)) return false;
    }
    seen.allItems = true;
    return true;
  };
}
