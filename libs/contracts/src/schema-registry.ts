import { z } from 'zod';

/** A JSON Schema (draft 2020-12), as OpenAPI 3.1 and AsyncAPI 3 embed it. */
export type JsonSchema = Readonly<Record<string, unknown>>;

const componentUri = (id: string): string => `#/components/schemas/${id}`;

/** The side of a schema: input or output. */
type Side = 'input' | 'output';

const settings = (io: Side) =>
  ({
    io,
    target: 'draft-2020-12',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }: { zodSchema: z.core.$ZodType; jsonSchema: Record<string, unknown> }) => {
      // A JSON value that is not validated further than being an object.
      if (z.globalRegistry.get(zodSchema)?.['x-json'] === 'object') jsonSchema['type'] = 'object';
      delete jsonSchema['x-json'];
    },
  }) as const;

/** The named schemas, and the inlined ones. */
export interface SchemaRegistry {
  /** A reference to the schema when it has a name, else the schema itself. */
  readonly use: (schema: z.ZodType, io: Side) => JsonSchema;
  /** Every named schema that was used, and what those use. */
  readonly components: () => Record<string, JsonSchema>;
}

/** A registry of the schemas that are named with zod's `meta({ id })`. */
export function createSchemaRegistry(): SchemaRegistry {
  const named = {
    input: z.toJSONSchema(z.globalRegistry, { ...settings('input'), uri: componentUri }).schemas,
    output: z.toJSONSchema(z.globalRegistry, { ...settings('output'), uri: componentUri }).schemas,
  };
  const used = new Map<string, JsonSchema>();

  const add = (id: string, io: Side): void => {
    if (used.has(id)) return;
    const { $schema: _, $id: __, ...schema } = (named[io][id] ?? {}) as Record<string, unknown>;
    used.set(id, schema);
    for (const [, inner = ''] of JSON.stringify(schema).matchAll(/"#\/components\/schemas\/([A-Za-z]+)"/g))
      add(inner, io);
  };
  return {
    use: (schema, io) => {
      const id = z.globalRegistry.get(schema)?.id;
      if (id === undefined) {
        const { $schema: _, ...inline } = z.toJSONSchema(schema, settings(io)) as Record<string, unknown>;
        return inline;
      }
      add(id, io);
      return { $ref: componentUri(id) };
    },
    components: () => Object.fromEntries([...used].sort(([a], [b]) => (a < b ? -1 : 1))),
  };
}
