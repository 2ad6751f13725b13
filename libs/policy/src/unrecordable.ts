import type { z } from 'zod';

type Issue = Extract<z.core.$ZodIssue, { readonly code: 'custom' }>;

/**
 * Finds what a document holds that cannot be recorded as JSON, or that is dropped when it is checked: a rule whose only
 * label is `__proto__` would match every call.
 */
export function unrecordable(
  value: unknown,
  path: readonly PropertyKey[] = [],
  around: readonly object[] = [],
): readonly Issue[] {
  const found = (message: string, at = path): Issue => ({ code: 'custom', path: [...at], message, input: undefined });
  if (typeof value === 'string') {
    return value.isWellFormed() ? [] : [found('holds half of a character, which is no text')];
  }
  if (typeof value !== 'object' || value === null) return [];
  if (around.includes(value)) return [found('contains itself')];
  return Object.entries(value).flatMap(([key, member]) => {
    const at = [...path, Array.isArray(value) ? Number(key) : key];
    if (key === '__proto__') return [found('is a forbidden key', at)];
    if (!key.isWellFormed()) return [found('has half of a character in its key', at)];
    return unrecordable(member, at, [...around, value]);
  });
}
