import type { JsonSchema } from '@countersign/contracts';

type Schemas = Readonly<Record<string, JsonSchema>>;

/**
 * Returns the components with each required member that may be null, and that is a list, a map, an enumeration or a component,
 * in a condition instead. Validators apply the condition, and generators do not read it: the clients that the generators for Java
 * and Python make refuse null in such a member when it is required.
 */
export function withLenientNulls(schemas: Schemas): Schemas {
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, lenient(schema)]));
}

function lenient(schema: JsonSchema): JsonSchema {
  const { properties, required, ...others } = schema as { properties?: Schemas; required?: readonly string[] };
  if (properties === undefined || required === undefined) return schema;
  const moved = required.filter((name) => isRefusedAsNull(properties[name] ?? {}));
  if (moved.length === 0) return schema;
  const kept = required.filter((name) => !moved.includes(name));
  return { ...others, properties, ...(kept.length > 0 && { required: kept }), if: {}, then: { required: moved } };
}

function isRefusedAsNull({ anyOf, type, enum: values, additionalProperties }: JsonSchema): boolean {
  const types = [type].flat();
  const isMore = [anyOf, values, additionalProperties].some((one) => one !== undefined) || types.includes('array');
  return isMore && (types.includes('null') || hasNull(anyOf));
}

function hasNull(anyOf: unknown): boolean {
  return Array.isArray(anyOf) && anyOf.some((one: JsonSchema) => one['type'] === 'null');
}
