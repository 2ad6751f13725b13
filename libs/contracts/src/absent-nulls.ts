import type { z } from 'zod';

/**
 * Returns the body without the nulls that its schema refused with this error: null in an optional member means absent. A null that stands for
 * a required member is kept, so that the refusal names it.
 */
export function withAbsentNulls(schema: z.ZodType, body: unknown, error: z.ZodError): unknown {
  const refused = error.issues.map(({ path }) => path).filter((path) => valueAt(body, path) === null);
  if (refused.length === 0) return body;
  const shorter = refused.reduce(without, body);
  const missing = new Set(schema.safeParse(shorter).error?.issues.map(({ path }) => path.join('/')));
  return refused.filter((path) => !missing.has(path.join('/'))).reduce(without, body);
}

type Path = readonly PropertyKey[];

function valueAt(value: unknown, path: Path): unknown {
  return path.reduce((part, key) => (isParent(part) ? part[String(key)] : undefined), value);
}

/** A copy of the value without the member. An item of a list is no member. */
function without(value: unknown, [key, ...rest]: Path): unknown {
  if (key === undefined || !isParent(value)) return value;
  if (Array.isArray(value)) return value.map((item: unknown, index) => (index === key ? without(item, rest) : item));
  const name = String(key);
  const entries = Object.entries(value);
  if (rest.length === 0) return Object.fromEntries(entries.filter(([member]) => member !== name));
  return Object.fromEntries(entries.map(([member, inner]) => [member, member === name ? without(inner, rest) : inner]));
}

function isParent(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
