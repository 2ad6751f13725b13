import { createAsyncApiDocument } from './asyncapi.js';
import type { JsonSchema } from './json-schema.js';

const component = '#/components/schemas/';

/**
 * The JSON Schema (draft 2020-12) of the value of every message on the requests and events topics, each complete in
 * itself, by topic, type and version. Dead letters are bytes, and have none.
 * @example
 * const schema = createMessageSchemas()['requests/ToolCallRequested.v1'];
 */
export function createMessageSchemas(): Readonly<Record<string, JsonSchema>> {
  const { components } = createAsyncApiDocument();
  const entries = Object.entries(components.messages).flatMap(([name, { title, payload, contentType }]) => {
    if (contentType !== undefined) return [];
    const [topic = '', type = ''] = name.split('.');
    const whole = components.schemas[nameIn(payload)] ?? {};
    const schema = {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      $id: `urn:countersign:${topic}:${type}:v1`,
      title,
      ...whole,
      $defs: definitionsOf(whole, components.schemas),
    };
    return [[`${topic}/${type}.v1`, withinItself(schema)] as const];
  });
  return Object.fromEntries(entries);
}

/** The name of the component that a message refers to. */
function nameIn(payload: unknown): string {
  return String((payload as JsonSchema)['$ref']).slice(component.length);
}

/** The components that a schema names, and those that these name. */
function definitionsOf(schema: unknown, components: Readonly<Record<string, JsonSchema>>): Record<string, JsonSchema> {
  const found: Record<string, JsonSchema> = {};
  const collect = (part: unknown): void => {
    for (const [, name = ''] of JSON.stringify(part).matchAll(/"#\/components\/schemas\/([A-Za-z0-9]+)"/g)) {
      if (found[name] !== undefined) continue;
      found[name] = components[name] ?? {};
      collect(found[name]);
    }
  };
  collect(schema);
  return found;
}

function withinItself(schema: JsonSchema): JsonSchema {
  return JSON.parse(JSON.stringify(schema).replaceAll(component, '#/$defs/')) as JsonSchema;
}
