import { z } from 'zod';
import { withConstantNames } from './constant-names.js';
import { nameDiscriminators, withDiscriminator, withToldMember } from './discriminators.js';
import { forGenerators } from './generator-forms.js';
import { mapSubschemas, type JsonSchema } from './json-schema.js';
import { asNamed, withNamedParts } from './schema-names.js';

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
  /** A reference to the schema, or the schema itself if it needs no name. `name` is for a schema without an id. */
  readonly use: (schema: z.ZodType, io: Side, name: string) => JsonSchema;
  /** Adds a schema that no zod schema has, and returns a reference to it. */
  readonly define: (name: string, schema: JsonSchema) => JsonSchema;
  /** Every named schema that was used, and what those use. */
  readonly components: () => Record<string, JsonSchema>;
}

interface RegistryOptions {
  /** The document that the schemas are for. Generators read the two in different ways. */
  readonly document: 'openapi' | 'asyncapi';
}

/**
 * A registry of the schemas that are named with zod's `meta({ id })`. Their parts get names too. Throws an `Error` if
 * two schemas have one name.
 */
export function createSchemaRegistry({ document }: RegistryOptions): SchemaRegistry {
  const named = {
    input: z.toJSONSchema(z.globalRegistry, { ...settings('input'), uri: componentUri }).schemas,
    output: z.toJSONSchema(z.globalRegistry, { ...settings('output'), uri: componentUri }).schemas,
  };
  const used = new Map<string, JsonSchema>();

  const put = (name: string, schema: JsonSchema): JsonSchema => {
    const complete =
      document === 'openapi'
        ? withConstantNames(withToldMember(withDiscriminator(schema, used), name, put), name)
        : schema;
    const before = used.get(name);
    if (before !== undefined && JSON.stringify(before) !== JSON.stringify(complete))
      throw new Error(`two schemas have the name ${name}: name one of them with meta({ id })`);
    used.set(name, complete);
    for (const [alternative, told] of nameDiscriminators(complete, used, put)) used.set(alternative, told);
    return { $ref: componentUri(name) };
  };
  const naming = { define: put, hasEnumerations: document === 'asyncapi' };
  const sides = new Map<string, Side>();
  const add = (id: string, io: Side): void => {
    const side = sides.get(id);
    if (side !== undefined && JSON.stringify(named[side][id]) !== JSON.stringify(named[io][id]))
      throw new Error(`${id} is another schema in a request than in a response: name them apart`);
    if (side !== undefined || named[io][id] === undefined) return;
    sides.set(id, io);
    const { $schema: _, $id: __, ...schema } = named[io][id] as Record<string, unknown>;
    addNamedIn(schema, io);
    put(id, withNamedParts(forGenerators(schema), id, naming));
  };
  const addNamedIn = (schema: JsonSchema, io: Side): void => {
    for (const [, id = ''] of JSON.stringify(schema).matchAll(/"#\/components\/schemas\/([A-Za-z0-9]+)"/g)) add(id, io);
  };
  return {
    use: (schema, io, name) => {
      const id = z.globalRegistry.get(schema)?.id;
      if (id === undefined) {
        const inline = withComponents(z.toJSONSchema(schema, settings(io)));
        addNamedIn(inline, io);
        return asNamed(forGenerators(inline), name, naming);
      }
      add(id, io);
      return { $ref: componentUri(id) };
    },
    define: (name, schema) => put(name, withNamedParts(forGenerators(schema), name, naming)),
    components: () => Object.fromEntries([...used].sort(([a], [b]) => (a < b ? -1 : 1))),
  };
}

/** The schema with references to the components in place of its own definitions. */
function withComponents({ $schema: _, $defs: __, ...schema }: JsonSchema): JsonSchema {
  const withReference = (part: JsonSchema): JsonSchema => {
    const { $ref, ...inner } = mapSubschemas(part, withReference);
    return typeof $ref === 'string' ? { ...inner, $ref: $ref.replace('#/$defs/', componentUri('')) } : inner;
  };
  return withReference(schema);
}
