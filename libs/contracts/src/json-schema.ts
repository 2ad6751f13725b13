/** A JSON Schema (draft 2020-12), as OpenAPI 3.1 and AsyncAPI 3 embed it. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** Members of a schema that hold one schema, a list of them, and schemas by name. */
const positions = {
  one: ['items', 'additionalProperties'],
  list: ['anyOf', 'oneOf', 'allOf'],
  byName: ['properties', '$defs'],
} as const;

/** The place of a schema in the one around it: the keyword, and the name of a member or the number in a list. */
export interface Place {
  readonly keyword: string;
  readonly key: string | number;
}

/** Returns the schema with each schema directly in it replaced. */
export function mapSubschemas(schema: JsonSchema, map: (inner: JsonSchema, place: Place) => JsonSchema): JsonSchema {
  const mapped: Record<string, unknown> = { ...schema };
  for (const keyword of positions.one)
    if (isSchema(schema[keyword])) mapped[keyword] = map(schema[keyword], { keyword, key: '' });
  for (const keyword of positions.list)
    if (Array.isArray(schema[keyword]))
      mapped[keyword] = schema[keyword].map((inner: JsonSchema, key) => map(inner, { keyword, key }));
  for (const keyword of positions.byName) {
    const named = schema[keyword];
    if (isSchema(named))
      mapped[keyword] = Object.fromEntries(
        Object.entries(named).map(([key, inner]) => [key, map(inner as JsonSchema, { keyword, key })]),
      );
  }
  return mapped;
}

/** Returns the members of a schema, by name. */
export function membersOf(schema: JsonSchema): Readonly<Record<string, JsonSchema>> {
  return (schema['properties'] ?? {}) as Readonly<Record<string, JsonSchema>>;
}

/** Returns the alternatives of a schema. */
export function alternativesOf(schema: JsonSchema): readonly JsonSchema[] {
  return (schema['anyOf'] ?? schema['oneOf'] ?? []) as readonly JsonSchema[];
}

/** Returns whether the schema allows null alone. */
export function isNull(schema: JsonSchema): boolean {
  return schema['type'] === 'null';
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
