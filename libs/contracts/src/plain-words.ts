import type { z } from 'zod';

const kinds: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
};

/**
 * Words for the author of a configuration file, in place of the schema library's: `must be a list, not text`. Given to
 * `safeParse` as `error`. Undefined where the library's own words stay.
 */
export const plainWords: z.core.$ZodErrorMap = (issue) => {
  const must = mustOf(issue);
  if (issue.input !== undefined) return must;
  return must === undefined ? 'is missing' : `is missing: it ${must.replace(/, not .*$/, '')}`;
};

/** The same for the sender of a request. */
export const requestWords: z.core.$ZodErrorMap = (issue) =>
  issue.input === undefined ? 'is missing' : mustOf(issue, 'null');

function mustOf(issue: z.core.$ZodRawIssue, nothing = 'empty'): string | undefined {
  switch (issue.code) {
    case 'invalid_type': {
      const wanted = kinds[issue.expected];
      return wanted === undefined
        ? undefined
        : `must be ${wanted}, not ${issue.input === null ? nothing : kindOf(issue.input)}`;
    }
    case 'invalid_value':
      return `must be ${oneOf(issue.values.map((value) => (typeof value === 'string' ? `"${value}"` : String(value))))}`;
    case 'too_small':
      if (issue.origin !== 'number' && issue.origin !== 'int' && Number(issue.minimum) === 1)
        return 'must not be empty';
      return sizeWords('at least', issue.minimum, issue.origin);
    case 'too_big':
      return sizeWords('at most', issue.maximum, issue.origin);
    case 'invalid_key':
      return `has a name that ${issue.issues[0]?.message ?? 'cannot be used'}`;
    default:
      return undefined;
  }
}

function sizeWords(bound: string, size: number | bigint, origin: string): string {
  if (origin === 'string') return `must have ${bound} ${String(size)} characters`;
  if (origin === 'array') return `must have ${bound} ${String(size)} members`;
  return `must be ${bound} ${String(size)}`;
}

function kindOf(input: unknown): string {
  if (Array.isArray(input)) return 'a list';
  return kinds[typeof input] ?? typeof input;
}

function oneOf(words: readonly string[]): string {
  const last = words.at(-1) ?? '';
  return words.length < 2 ? last : `${words.slice(0, -1).join(', ')} or ${last}`;
}
