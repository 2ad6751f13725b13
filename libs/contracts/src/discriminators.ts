import { alternativesOf, membersOf, type JsonSchema } from './json-schema.js';
import { nameOf } from './schema-names.js';

const reference = /^#\/components\/schemas\/(.*)$/;

interface Discriminator {
  readonly propertyName: string;
  /** References to the alternatives, by value. */
  readonly mapping: Readonly<Record<string, string>>;
}

/** The components of a document, by name. */
type Components = ReadonlyMap<string, JsonSchema>;

/** Returns the schema with a discriminator if it is a union of components that one member tells apart. */
export function withDiscriminator(schema: JsonSchema, components: Components): JsonSchema {
  const references = alternativesOf(schema).map(({ $ref }) => String($ref));
  const objects = references.map((uri) => components.get(nameIn(uri)));
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

/**
 * Returns the union with the member that tells its alternatives apart as a member of its own: the generator for PHP makes one class
 * of all alternatives, and would take the values of the last one.
 */
export function withToldMember(
  schema: JsonSchema,
  name: string,
  define: (name: string, schema: JsonSchema) => JsonSchema,
): JsonSchema {
  if (schema['discriminator'] === undefined) return schema;
  const { propertyName, mapping } = schema['discriminator'] as Discriminator;
  const member = define(nameOf(name, propertyName), { type: 'string', enum: Object.keys(mapping) });
  return { ...schema, type: 'object', properties: { [propertyName]: member }, required: [propertyName] };
}

/**
 * Defines the value that tells each alternative of the union apart as an enumeration of its own. Some clients do not look at the
 * discriminator and try each alternative: they check the values of a component, and no others.
 */
export function nameDiscriminators(
  { discriminator }: JsonSchema,
  components: Components,
  define: (name: string, schema: JsonSchema) => JsonSchema,
): ReadonlyMap<string, JsonSchema> {
  if (discriminator === undefined) return new Map();
  const { propertyName, mapping } = discriminator as {
    propertyName: string;
    mapping: Readonly<Record<string, string>>;
  };
  return new Map(
    Object.values(mapping).map((uri) => {
      const [name, alternative] = [nameIn(uri), components.get(nameIn(uri)) ?? {}];
      const member = define(nameOf(name, propertyName), membersOf(alternative)[propertyName] ?? {});
      return [name, { ...alternative, properties: { ...membersOf(alternative), [propertyName]: member } }];
    }),
  );
}

function nameIn(uri: string): string {
  return reference.exec(uri)?.[1] ?? '';
}

function onlyValue(member: JsonSchema | undefined): string | undefined {
  const [value, ...more] = (member?.['enum'] ?? []) as readonly unknown[];
  return typeof value === 'string' && more.length === 0 ? value : undefined;
}
