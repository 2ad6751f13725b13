import type { z } from 'zod';
import { requestWords } from './plain-words.js';

const words = { error: requestWords };

/**
 * Validates the body of a request, in which null in an optional member means absent: the result has no such member. Null stays a
 * value in JSON that is only passed on, and is refused everywhere else: for a required member, an item, or a value of a map.
 */
export function parseBody<S extends z.ZodType>(schema: S, body: unknown): z.ZodSafeParseResult<z.output<S>> {
  const first = schema.safeParse(body, words);
  const nulls = (first.error?.issues ?? []).map(({ path }) => path).filter((path) => valueAt(body, path) === null);
  if (nulls.length === 0) return first;
  // Under a name that no object declares, so that only maps still see the null, and required members are missing.
  const renamed = schema.safeParse(nulls.reduce<unknown>((value, path) => changed(value, path, unknownName), body));
  const refused = new Set(renamed.error?.issues.map(({ path }) => path.join('/').replace(unknownName, '')));
  const optional = nulls.filter((path) => !refused.has(path.join('/')));
  if (optional.length === 0) return first;
  const shorter = optional.reduce<unknown>((value, path) => changed(value, path, null), body);
  return schema.safeParse(shorter, words);
}

const unknownName = '⟦null⟧';

type Path = readonly PropertyKey[];

function valueAt(value: unknown, path: Path): unknown {
  return path.reduce((part, key) => (isParent(part) ? part[String(key)] : undefined), value);
}

/** A copy of the value with this text after the name of the member; null: without the member. An item of a list is no member. */
function changed(value: unknown, [key, ...rest]: Path, suffix: string | null): unknown {
  if (key === undefined || !isParent(value)) return value;
  if (Array.isArray(value))
    return value.map((item: unknown, index) => (index === key ? changed(item, rest, suffix) : item));
  const name = String(key);
  const members = Object.entries(value);
  if (rest.length > 0)
    return Object.fromEntries(
      members.map(([member, inner]) => [member, member === name ? changed(inner, rest, suffix) : inner]),
    );
  if (suffix === null) return Object.fromEntries(members.filter(([member]) => member !== name));
  return Object.fromEntries(members.map(([member, inner]) => [member === name ? name + suffix : member, inner]));
}

function isParent(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
