import type { JsonSchema } from '@countersign/contracts';
import { componentWords } from './component-words.js';
import { memberWords } from './member-words.js';

type Schemas = Readonly<Record<string, JsonSchema>>;

/** Returns the components with a description of each, and of each of their members. */
export function describedComponents(schemas: Schemas): Schemas {
  const named = Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, withWords(name, schema)]));
  return Object.fromEntries(Object.entries(named).map(([name, schema]) => [name, withMembers(name, schema, named)]));
}

/** Returns what a parameter is. */
export function parameterWords(name: string): string | undefined {
  return memberWords[name];
}

function withWords(name: string, schema: JsonSchema): JsonSchema {
  const words = componentWords[name] ?? onlyValueWords(schema);
  return schema['description'] !== undefined || words === undefined ? schema : { ...schema, description: words };
}

/** An enumeration of one value tells an alternative of a union apart. */
function onlyValueWords(schema: JsonSchema): string | undefined {
  const [value, ...more] = (schema['enum'] ?? []) as readonly unknown[];
  return typeof value === 'string' && more.length === 0 ? `Always \`${value}\`.` : undefined;
}

function withMembers(name: string, schema: JsonSchema, schemas: Schemas): JsonSchema {
  const { properties, allOf } = schema as { properties?: Schemas; allOf?: readonly JsonSchema[] };
  return {
    ...schema,
    ...(allOf === undefined ? {} : { allOf: allOf.map((part) => withMembers(name, part, schemas)) }),
    ...(properties === undefined
      ? {}
      : {
          properties: Object.fromEntries(
            Object.entries(properties).map(([key, member]) => [key, describedMember(name, key, member, schemas)]),
          ),
        }),
  };
}

function describedMember(component: string, name: string, member: JsonSchema, schemas: Schemas): JsonSchema {
  const own = /^OversightReport(Others|Row|Total)$/.test(component) ? 'OversightFigures' : component;
  const words = memberWords[`${own}.${name}`] ?? memberWords[name];
  return words === undefined || isDescribed(member, schemas) ? member : { ...member, description: words };
}

/** A member that refers to a component is described by that. */
export function isDescribed(member: JsonSchema, schemas: Schemas): boolean {
  if (typeof member['$ref'] === 'string') {
    const name = member['$ref'].slice('#/components/schemas/'.length);
    return schemas[name]?.['description'] !== undefined;
  }
  return member['description'] !== undefined;
}
