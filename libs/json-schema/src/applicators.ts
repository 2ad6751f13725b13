import type { JsonObject, JsonValue } from '@countersign/contracts';
import { hasAll } from './assertions.js';
import { evaluate, judge, probe } from './evaluate.js';
import { isEmptyList, isObject, listOf, namesOf } from './keyword.js';
import type { Keyword, KeywordPlace } from './keyword.js';
import { fail } from './run.js';
import type { Run } from './run.js';
import type { Judged } from './evaluate.js';
import type { Check, SchemaNode } from './schema-node.js';
import { spend } from './work.js';

function partsOf(value: JsonValue, place: KeywordPlace, keyword: string): readonly SchemaNode[] | undefined {
  const list = listOf(value, place, keyword);
  if (list?.length === 0) place.note('must not be empty', keyword);
  return list?.map((one, index) => place.subschema(one, keyword, index));
}

const ref: Keyword = (value, place, keyword) => {
  const use = (target: SchemaNode): void => {
    target.isShared = true;
    place.node.parts.always.push(target);
    place.node.checks.inPlace.push((one, run, seen) => evaluate(target, one, run, seen));
  };
  // What a reference may lead to is searched for marks, also where it is not known which of them it means.
  place.reference(value, keyword, use, (targets) => void place.node.parts.sometimes.push(...targets));
};

const allOf: Keyword = (value, place, keyword) => {
  const parts = partsOf(value, place, keyword) ?? [];
  place.node.parts.always.push(...parts);
  for (const part of parts) place.node.checks.inPlace.push((one, run, seen) => evaluate(part, one, run, seen));
};

/** The errors of every branch, where errors are wanted, and that none of them fits. */
function noneFits(parts: readonly SchemaNode[], value: JsonValue, run: Run, message: string): false {
  if (run.errors !== null) for (const part of parts) evaluate(part, value, run, null);
  return fail(run, () => message);
}

/** The value passes, because a part that cannot be checked decides about it. */
function unsure(run: Run): true {
  run.isDoubtful = true;
  return true;
}

const anyOf: Keyword = (value, place, keyword) => {
  const parts = partsOf(value, place, keyword) ?? [];
  if (parts.length === 0) return;
  place.node.parts.sometimes.push(...parts);
  place.node.checks.inPlace.push((one, run, seen) => {
    const found = new Set<Judged>();
    for (const part of parts) {
      found.add(judge(part, one, run, seen));
      if (seen === null && found.has('fits')) return true;
    }
    if (found.has('fits')) return true;
    if (!found.has('unsure')) return noneFits(parts, one, run, 'must match a schema in anyOf');
    return unsure(run);
  });
};

const oneOf: Keyword = (value, place, keyword) => {
  const parts = partsOf(value, place, keyword) ?? [];
  if (parts.length === 0) return;
  place.node.parts.sometimes.push(...parts);
  place.node.checks.inPlace.push((one, run, seen) => {
    let count = 0;
    let isUnsure = false;
    for (const part of parts) {
      const judged = judge(part, one, run, seen);
      if (judged === 'fits') count += 1;
      isUnsure ||= judged === 'unsure';
      if (count > 1) return fail(run, () => 'must match exactly one schema in oneOf');
    }
    if (isUnsure) return unsure(run);
    return count === 1 || noneFits(parts, one, run, 'must match exactly one schema in oneOf');
  });
};

const not: Keyword = (value, place) => {
  const part = place.subschema(value, 'not');
  place.node.parts.sometimes.push(part);
  place.node.checks.inPlace.push((one, run) => {
    const judged = judge(part, one, run, null);
    if (judged === 'unsure') return unsure(run);
    return judged === 'fails' || fail(run, () => 'must NOT be valid');
  });
};

const condition: Keyword = (value, place) => {
  const test = place.subschema(value, 'if');
  const branch = (keyword: 'then' | 'else'): SchemaNode | null => {
    const given = Object.hasOwn(place.schema, keyword) ? place.schema[keyword] : undefined;
    return given === undefined ? null : place.subschema(given, keyword);
  };
  const whenTrue = branch('then');
  const whenFalse = branch('else');
  const parts = [test, whenTrue, whenFalse].filter((part) => part !== null);
  place.node.parts.sometimes.push(...parts);
  place.node.checks.inPlace.push((one, run, seen) => {
    const judged = judge(test, one, run, seen);
    if (judged === 'unsure') {
      for (const part of [whenTrue, whenFalse]) if (part !== null) probe(part, one, run, seen);
      return unsure(run);
    }
    const next = judged === 'fits' ? whenTrue : whenFalse;
    return next === null || evaluate(next, one, run, seen);
  });
};

const onObjects =
  (check: Check<JsonObject>): Check<JsonValue> =>
  (value, run, seen) =>
    !isObject(value) || check(value, run, seen);

function dependsOnSchema(place: KeywordPlace, name: string, part: SchemaNode): void {
  place.node.parts.sometimes.push(part);
  place.node.checks.inPlace.push(
    onObjects((value, run, seen) => {
      spend(run.work, 1);
      return !Object.hasOwn(value, name) || evaluate(part, value, run, seen);
    }),
  );
}

function dependsOnNames(place: KeywordPlace, name: string, names: readonly string[]): void {
  place.node.checks.object.push((value, run) => {
    spend(run.work, 1);
    return !Object.hasOwn(value, name) || hasAll(value, names, run);
  });
}

const dependentSchemas: Keyword = (value, place, keyword) => {
  for (const [name, part] of place.subschemas(value, keyword)) dependsOnSchema(place, name, part);
};

const dependentRequired: Keyword = (value, place, keyword) => {
  if (isEmptyList(value)) return;
  if (!isObject(value)) {
    place.note('must be an object of lists', keyword);
    return;
  }
  for (const [name, list] of Object.entries(value)) {
    const names = namesOf(list, place, keyword, name);
    if (names !== undefined) dependsOnNames(place, name, names);
  }
};

/** The word of draft-07 for both. */
const dependencies: Keyword = (value, place, keyword) => {
  if (isEmptyList(value)) return;
  if (!isObject(value)) {
    place.note('must be an object', keyword);
    return;
  }
  const entries = Object.entries(value);
  dependentRequired(Object.fromEntries(entries.filter(([, one]) => Array.isArray(one))), place, keyword);
  for (const [name, one] of entries) {
    if (!Array.isArray(one)) dependsOnSchema(place, name, place.subschema(one, keyword, name));
  }
};

/** The keywords that refer to another schema for the same value. */
export const applicators: readonly (readonly [string, Keyword])[] = [
  ['$ref', ref],
  ['$dynamicRef', ref],
  ['$recursiveRef', ref],
  ['allOf', allOf],
  ['anyOf', anyOf],
  ['oneOf', oneOf],
  ['not', not],
  ['if', condition],
  ['dependentSchemas', dependentSchemas],
  ['dependentRequired', dependentRequired],
  ['dependencies', dependencies],
];
