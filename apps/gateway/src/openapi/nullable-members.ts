import type { JsonSchema } from '@countersign/contracts';

type Schemas = Readonly<Record<string, JsonSchema>>;

const componentPrefix = '#/components/schemas/';

/**
 * Returns the components with null in each optional member of those that `bodies` refer to: in a request it means absent. No
 * response uses those components.
 */
export function withNullableMembers(schemas: Schemas, bodies: readonly JsonSchema[]): Schemas {
  const names = new Set<string>();
  const add = (part: unknown): void => {
    for (const name of referencesIn(part)) {
      if (names.has(name)) continue;
      names.add(name);
      add(schemas[name]);
    }
  };
  add(bodies);
  return Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [name, names.has(name) ? withNulls(schema, schemas) : schema]),
  );
}

function referencesIn(part: unknown): readonly string[] {
  const found = JSON.stringify(part ?? null).matchAll(/"#\/components\/schemas\/([A-Za-z0-9]+)"/g);
  return [...found].map(([, name = '']) => name);
}

function withNulls(schema: JsonSchema, schemas: Schemas): JsonSchema {
  const { properties, required = [] } = schema as { properties?: Schemas; required?: readonly string[] };
  if (properties === undefined) return schema;
  const members = Object.entries(properties).map(([name, member]) => [
    name,
    required.includes(name) ? member : orNull(member, schemas),
  ]);
  return { ...schema, properties: Object.fromEntries(members) as Schemas };
}

function orNull(member: JsonSchema, schemas: Schemas): JsonSchema {
  const { $ref, type } = member;
  if (typeof $ref === 'string') {
    const description = schemas[$ref.slice(componentPrefix.length)]?.['description'];
    return { anyOf: [{ $ref }, { type: 'null' }], ...(description === undefined ? {} : { description }) };
  }
  return typeof type === 'string' ? { ...member, type: [type, 'null'] } : member;
}
