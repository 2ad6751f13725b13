import type { JsonSchema } from './json-schema.js';

/**
 * Returns the schema with names for the constants of its values if it is an enumeration, such as `APPROVAL_STATE_PENDING`. The
 * generator for Go puts the constants of all enumerations into one package, so that `PENDING` would be there twice.
 */
export function withConstantNames(schema: JsonSchema, name: string): JsonSchema {
  const values = (schema['enum'] ?? []) as readonly unknown[];
  if (values.length === 0) return schema;
  return { ...schema, 'x-enum-varnames': values.map((value) => constantOf(name, String(value))) };
}

function constantOf(name: string, value: string): string {
  return `${name.replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, '_')}_${value.replaceAll(/[^A-Za-z0-9]+/g, '_')}`.toUpperCase();
}
