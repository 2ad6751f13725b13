import type { JsonSchema } from '@countersign/contracts';
import { exampleValues } from './example-values.js';

type Schemas = Readonly<Record<string, JsonSchema>>;

const componentPrefix = '#/components/schemas/';
const time = '2026-01-15T09:30:00.000Z';

/** Returns an example of a schema of the document. It is valid: a test checks each against its schema. */
export function exampleOf(schema: JsonSchema, schemas: Schemas, component = ''): unknown {
  const { $ref, allOf, anyOf, oneOf } = schema as { $ref?: string } & Readonly<Record<string, readonly JsonSchema[]>>;
  if ($ref !== undefined) {
    const name = $ref.slice(componentPrefix.length);
    return exampleOf(schemas[name] ?? {}, schemas, name);
  }
  const alternatives = oneOf ?? anyOf ?? [];
  const isNullable = alternatives.some(({ type }) => type === 'null');
  const [part] = [...alternatives, ...(allOf ?? [])];
  if (isNullable) return null;
  return part === undefined ? exampleOfValue(schema, schemas, component) : exampleOf(part, schemas, component);
}

function exampleOfValue(schema: JsonSchema, schemas: Schemas, component: string): unknown {
  const [value] = (schema['enum'] ?? []) as readonly unknown[];
  return value ?? exampleOfType(schema, schemas, component);
}

function exampleOfType(schema: JsonSchema, schemas: Schemas, component: string): unknown {
  const [type, ...more] = [schema['type']].flat();
  if (more.includes('null')) return null;
  if (type === 'object') return exampleObject(schema, schemas, component);
  if (type === 'array') return [exampleOf(schema['items'] as JsonSchema, schemas, component)];
  if (type === 'boolean') return true;
  if (type === 'integer' || type === 'number') return Math.max(1, Number(schema['minimum'] ?? 1));
  if (type === 'string') return schema['format'] === 'date-time' ? time : 'text';
  return null;
}

function exampleObject(schema: JsonSchema, schemas: Schemas, component: string): unknown {
  const members = Object.entries((schema['properties'] ?? {}) as Schemas);
  const required = (schema['required'] ?? []) as readonly string[];
  return Object.fromEntries(
    members.flatMap(([name, member]) => {
      const own = exampleValues[`${component}.${name}`] ?? (hasOnly(member) ? undefined : exampleValues[name]);
      if (own === undefined && !required.includes(name)) return [];
      return [[name, own ?? exampleOf(member, schemas)]];
    }),
  );
}

/** A member with one value, or a state, has its own example. */
function hasOnly(member: JsonSchema): boolean {
  return member['enum'] !== undefined;
}
