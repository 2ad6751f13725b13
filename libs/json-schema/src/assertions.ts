import type { JsonValue } from '@countersign/contracts';
import { canonicalText, characterCount, isMultiple } from './canonical.js';
import { numberFormat, textFormat } from './formats.js';
import { listOf, namesOf } from './keyword.js';
import type { Keyword, KeywordPlace } from './keyword.js';
import type { Pattern } from './patterns.js';
import { fail, shortened } from './run.js';
import type { Run } from './run.js';
import { spend } from './work.js';

const typeNames = ['null', 'boolean', 'object', 'array', 'number', 'string', 'integer'];

function typeOf(value: JsonValue): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

const type: Keyword = (value, place) => {
  const given = Array.isArray(value) ? (value as readonly JsonValue[]) : [value];
  const names = given.filter((name) => typeof name === 'string' && typeNames.includes(name)) as string[];
  if (names.length !== given.length || names.length === 0) {
    place.note(`must be one or some of: ${typeNames.join(', ')}`, 'type');
    return;
  }
  const wanted = new Set(names);
  const message = `must be ${names.join(',')}`;
  place.node.checks.any.push((one, run) => {
    if (wanted.has(typeOf(one)) || (Number.isInteger(one) && wanted.has('integer'))) return true;
    return fail(run, () => message);
  });
};

const enumeration: Keyword = (value, place, keyword) => {
  const values = keyword === 'const' ? [value] : listOf(value, place, keyword);
  if (values === undefined) return;
  const message = keyword === 'const' ? 'must be equal to constant' : 'must be equal to one of the allowed values';
  const plain = new Set<JsonValue>(values.filter((one) => typeof one !== 'object' || one === null));
  const containers = values.filter((one) => typeof one === 'object' && one !== null);
  const texts = new Set(containers.map((one) => canonicalText(one, new Map(), place.work)));
  place.node.checks.any.push((one, run) => {
    if (plain.has(one)) return true;
    const mayFit = texts.size > 0 && typeof one === 'object' && one !== null;
    if (mayFit && texts.has(canonicalText(one, run.texts, run.work))) return true;
    return fail(run, () => message);
  });
};

/** A keyword whose value is a number that is compared with something about the value. */
const bound =
  (
    add: (limit: number, place: KeywordPlace) => void,
    isAllowed: (limit: number) => boolean = Number.isFinite,
    what = 'must be a number',
  ): Keyword =>
  (value, place, keyword) => {
    if (typeof value === 'number' && isAllowed(value)) add(value, place);
    else place.note(what, keyword);
  };

const ofNumbers = (words: string, holds: (value: number, limit: number) => boolean): Keyword =>
  bound((limit, { node }) =>
    node.checks.number.push((value, run) => holds(value, limit) || fail(run, () => `must be ${words} ${limit}`)),
  );

/** `exclusiveMinimum: true` of draft-04 and OpenAPI 3.0 is a word about `minimum`. */
const exclusive =
  (bound: 'minimum' | 'maximum', words: string, holds: (value: number, limit: number) => boolean): Keyword =>
  (value, place, keyword) => {
    const of = ofNumbers(words, holds);
    if (typeof value !== 'boolean') of(value, place, keyword);
    else if (value && Object.hasOwn(place.schema, bound)) of(place.schema[bound] ?? null, place, bound);
  };

/** A whole number with 600 digits may be divided. */
const stepsPerDivision = 8;

const multipleOf = bound(
  (divisor, { node }) =>
    node.checks.number.push(
      (value, run) =>
        (spend(run.work, stepsPerDivision) && isMultiple(value, divisor)) ||
        fail(run, () => `must be multiple of ${divisor}`),
    ),
  (limit) => Number.isFinite(limit) && limit > 0,
  'must be a number above 0',
);

const isCount = (limit: number): boolean => Number.isInteger(limit) && limit >= 0;
const aCount = 'must be a whole number, 0 or more';
const counted = (add: (limit: number, place: KeywordPlace) => void): Keyword => bound(add, isCount, aCount);

const isLonger = (text: string, limit: number): boolean => text.length > limit && characterCount(text) > limit;

const maxLength = counted((limit, { node }) =>
  node.checks.string.push((text, run) => {
    spend(run.work, text.length >> 6);
    return !isLonger(text, limit) || fail(run, () => `must NOT have more than ${limit} characters`);
  }),
);

const minLength = counted((limit, { node }) =>
  node.checks.string.push((text, run) => {
    spend(run.work, text.length >> 6);
    return isLonger(text, limit - 1) || fail(run, () => `must NOT have fewer than ${limit} characters`);
  }),
);

const maxItems = counted((limit, { node }) =>
  node.checks.array.push(
    (list, run) => list.length <= limit || fail(run, () => `must NOT have more than ${limit} items`),
  ),
);

const minItems = counted((limit, { node }) =>
  node.checks.array.push(
    (list, run) => list.length >= limit || fail(run, () => `must NOT have fewer than ${limit} items`),
  ),
);

function countOf(value: object, run: Run): number {
  const count = Object.keys(value).length;
  spend(run.work, count >> 3);
  return count;
}

const maxProperties = counted((limit, { node }) =>
  node.checks.object.push(
    (value, run) => countOf(value, run) <= limit || fail(run, () => `must NOT have more than ${limit} properties`),
  ),
);

const minProperties = counted((limit, { node }) =>
  node.checks.object.push(
    (value, run) => countOf(value, run) >= limit || fail(run, () => `must NOT have fewer than ${limit} properties`),
  ),
);

/** A large program builds its states slowly. */
const slowProgram = 500;

/** Returns whether a pattern matches in a text; also false when the budget is used up. */
export function isFound({ program, test }: Pattern, text: string, run: Run): boolean {
  const shift = program > slowProgram ? 3 : 4;
  return spend(run.work, 1 + ((program * (text.length + 8)) >> shift)) && test(text);
}

const pattern: Keyword = (value, place) => {
  const compiled = place.pattern(value, 'pattern');
  if (compiled === undefined) return;
  const message = `must match pattern "${shortened(typeof value === 'string' ? value : '')}"`;
  place.node.checks.string.push((text, run) => isFound(compiled, text, run) || fail(run, () => message));
};

const format: Keyword = (value, place) => {
  if (typeof value !== 'string') {
    place.note('must be the name of a format', 'format');
    return;
  }
  if (!place.assertsFormats) return;
  const message = `must match format "${shortened(value)}"`;
  const ofText = textFormat(value);
  const ofNumber = numberFormat(value);
  if (ofText !== undefined) {
    place.node.checks.string.push(
      (text, run) => (spend(run.work, text.length >> 4) && ofText(text)) || fail(run, () => message),
    );
  }
  if (ofNumber !== undefined) {
    place.node.checks.number.push((number, run) => ofNumber(number) || fail(run, () => message));
  }
};

const uniqueItems: Keyword = (value, place) => {
  if (typeof value !== 'boolean') place.note('must be true or false', 'uniqueItems');
  if (value !== true) return;
  place.node.checks.array.push((list, run) => {
    const seen = new Set<string>();
    for (const item of list) {
      if (!spend(run.work, 1)) return false;
      seen.add(canonicalText(item, run.texts, run.work));
    }
    return seen.size === list.length || fail(run, () => 'must NOT have duplicate items');
  });
};

/** Returns whether every name is an own property, never an inherited one. */
export function hasAll(value: object, names: readonly string[], run: Run): boolean {
  spend(run.work, names.length >> 2);
  let hasThem = true;
  for (const name of names) {
    if (Object.hasOwn(value, name)) continue;
    hasThem = fail(run, () => `must have required property '${shortened(name)}'`);
    if (run.errors === null) return false;
  }
  return hasThem;
}

const required: Keyword = (value, place) => {
  const names = namesOf(value, place, 'required');
  if (names !== undefined) place.node.checks.object.push((one, run) => hasAll(one, names, run));
};

/** The keywords that say something about a value by themselves. */
export const assertions: readonly (readonly [string, Keyword])[] = [
  ['type', type],
  ['enum', enumeration],
  ['const', enumeration],
  ['maximum', ofNumbers('<=', (value, limit) => value <= limit)],
  ['minimum', ofNumbers('>=', (value, limit) => value >= limit)],
  ['exclusiveMaximum', exclusive('maximum', '<', (value, limit) => value < limit)],
  ['exclusiveMinimum', exclusive('minimum', '>', (value, limit) => value > limit)],
  ['multipleOf', multipleOf],
  ['maxLength', maxLength],
  ['minLength', minLength],
  ['pattern', pattern],
  ['format', format],
  ['maxItems', maxItems],
  ['minItems', minItems],
  ['uniqueItems', uniqueItems],
  ['maxProperties', maxProperties],
  ['minProperties', minProperties],
  ['required', required],
];
