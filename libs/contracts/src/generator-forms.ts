import { alternativesOf, isNull, mapSubschemas, type JsonSchema } from './json-schema.js';

/**
 * The same schema in the forms that generators of clients read: `enum` for `const`, a list of types for a simple type
 * that may be null, and no members beside a `$ref`.
 */
export function forGenerators(schema: JsonSchema): JsonSchema {
  return withLoneReference(withNullType(withEnum(mapSubschemas(schema, forGenerators))));
}

function withEnum({ const: value, ...schema }: JsonSchema): JsonSchema {
  return value === undefined ? schema : { ...schema, enum: [value] };
}

function withNullType(schema: JsonSchema): JsonSchema {
  const { anyOf, ...others } = schema;
  const [only, ...more] = alternativesOf({ anyOf }).filter((alternative) => !isNull(alternative));
  const isNullable = alternativesOf({ anyOf }).some(isNull);
  if (!isNullable || only === undefined || more.length > 0 || !isSimple(only)) return schema;
  return { ...only, ...others, type: [only['type'], 'null'] };
}

function isSimple(schema: JsonSchema): boolean {
  return typeof schema['type'] === 'string' && schema['enum'] === undefined && schema['properties'] === undefined;
}

function withLoneReference({ $ref, ...others }: JsonSchema): JsonSchema {
  if ($ref === undefined) return others;
  return Object.keys(others).length === 0 ? { $ref } : { allOf: [{ $ref }], ...others };
}
