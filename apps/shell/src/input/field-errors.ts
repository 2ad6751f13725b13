import type { z } from 'zod';
import type { FieldError } from '@countersign/contracts';

/** The violations of a schema, path by path, each unknown key separately. */
export function toFieldErrors(error: z.ZodError): FieldError[] {
  return error.issues.flatMap((issue) => {
    const path = issue.path.map(String).join('.');
    if (issue.code === 'invalid_type' && issue.message.endsWith('received undefined')) {
      return [{ path, message: 'is missing' }];
    }
    if (issue.code !== 'unrecognized_keys') return [{ path, message: issue.message }];
    return issue.keys.map((key) => ({ path: path === '' ? key : `${path}.${key}`, message: 'is not a known field' }));
  });
}

const detailLengthMax = 2000;

/** The same in one line for people. */
export function describeFieldErrors(problems: readonly FieldError[]): string {
  const detail = problems.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; ');
  return detail.slice(0, detailLengthMax);
}
