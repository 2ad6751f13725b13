import { alternativesOf, membersOf, type JsonSchema } from './json-schema.js';

const reference = /^#\/components\/schemas\/(.*)$/;

/** Returns the schema with a discriminator if it is a union of components that one member tells apart. */
export function withDiscriminator(schema: JsonSchema, components: ReadonlyMap<string, JsonSchema>): JsonSchema {
  const references = alternativesOf(schema).map(({ $ref }) => String($ref));
  const objects = references.map((uri) => components.get(reference.exec(uri)?.[1] ?? ''));
  const [first] = objects;
  if (schema['oneOf'] === undefined || first === undefined) return schema;
  for (const propertyName of Object.keys(membersOf(first))) {
    const values = objects.map((object) => onlyValue(membersOf(object ?? {})[propertyName]));
    const isTold = values.every((value) => value !== undefined) && new Set(values).size === values.length;
    if (!isTold) continue;
    const mapping = Object.fromEntries(values.map((value, index) => [value, references[index]]));
    return { ...schema, discriminator: { propertyName, mapping } };
  }
  return schema;
}

function onlyValue(member: JsonSchema | undefined): string | undefined {
  const [value, ...more] = (member?.['enum'] ?? []) as readonly unknown[];
  return typeof value === 'string' && more.length === 0 ? value : undefined;
}
