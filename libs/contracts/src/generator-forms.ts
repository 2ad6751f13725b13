import { alternativesOf, isNull, mapSubschemas, membersOf, type JsonSchema } from './json-schema.js';

/**
 * The same schema in the forms that generators of clients read:
 * - `enum` for `const`, but `not` for a boolean with one value: generators compare it with a text;
 * - a list of types for a simple type that may be null, and no default of null;
 * - no object as a default: the one for Python leaves out every operation with such a member;
 * - no members next to a `$ref`;
 * - no pattern next to the format of a time, which they apply to their own type of a time;
 * - the format `int64` where a number needs it;
 * - one object for the alternatives that a boolean tells apart.
 */
export function forGenerators(schema: JsonSchema): JsonSchema {
  const inner = mapSubschemas(schema, forGenerators);
  return [
    withEnum,
    withNullType,
    withoutObjectDefault,
    withLoneReference,
    withoutTimePattern,
    withIntegerFormat,
    withOneObject,
  ].reduce((form, change) => change(form), inner);
}

function withEnum({ const: value, ...schema }: JsonSchema): JsonSchema {
  if (value === undefined) return schema;
  return typeof value === 'boolean' ? { ...schema, not: { enum: [!value] } } : { ...schema, enum: [value] };
}

function withNullType(schema: JsonSchema): JsonSchema {
  const { anyOf, default: initial, ...others } = schema;
  const withoutAnyOf = { ...(initial === undefined || initial === null ? {} : { default: initial }), ...others };
  const [only, ...more] = alternativesOf({ anyOf }).filter((alternative) => !isNull(alternative));
  const isNullable = alternativesOf({ anyOf }).some(isNull);
  if (!isNullable || only === undefined || more.length > 0 || !isSimple(only))
    return { ...(anyOf === undefined ? {} : { anyOf }), ...withoutAnyOf };
  return { ...only, ...withoutAnyOf, type: [only['type'], 'null'] };
}

function isSimple(schema: JsonSchema): boolean {
  return typeof schema['type'] === 'string' && schema['enum'] === undefined && schema['properties'] === undefined;
}

function withoutObjectDefault({ default: initial, ...schema }: JsonSchema): JsonSchema {
  return initial === undefined || typeof initial === 'object' ? schema : { default: initial, ...schema };
}

function withLoneReference({ $ref, ...others }: JsonSchema): JsonSchema {
  if ($ref === undefined) return others;
  return Object.keys(others).length === 0 ? { $ref } : { allOf: [{ $ref }], ...others };
}

function withoutTimePattern({ pattern, ...schema }: JsonSchema): JsonSchema {
  return pattern === undefined || schema['format'] === 'date-time' ? schema : { ...schema, pattern };
}

const int32Max = 2 ** 31 - 1;

function withIntegerFormat(schema: JsonSchema): JsonSchema {
  const isInteger = [schema['type']].flat().includes('integer');
  return isInteger && Number(schema['maximum'] ?? Infinity) > int32Max ? { ...schema, format: 'int64' } : schema;
}

function withOneObject(schema: JsonSchema): JsonSchema {
  const { oneOf, ...others } = schema;
  const alternatives = alternativesOf({ oneOf });
  const [first] = alternatives;
  if (first === undefined || !alternatives.every(isToldByBoolean)) return schema;
  const properties = Object.fromEntries(alternatives.flatMap((alternative) => Object.entries(membersOf(alternative))));
  const names = alternatives.map(({ required }) => (required ?? []) as readonly string[]);
  const required = Object.keys(properties).filter((name) => names.every((list) => list.includes(name)));
  const told = Object.fromEntries(required.map((name) => [name, withoutNot(properties[name] ?? {})]));
  return { ...others, ...first, properties: { ...properties, ...told }, required };
}

function isToldByBoolean(alternative: JsonSchema): boolean {
  return Object.values(membersOf(alternative)).some((member) => member['type'] === 'boolean' && 'not' in member);
}

function withoutNot({ not: _, ...schema }: JsonSchema): JsonSchema {
  return schema;
}
