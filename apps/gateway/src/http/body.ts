import { ProblemError, parseStrictJson } from '@countersign/shell';

/**
 * Returns the JSON value of a body, or undefined for an empty one.
 * @throws ProblemError `invalid-request`, naming every path that another parser could read differently.
 */
export function parseBody(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined;
  const parsed = parseStrictJson(bytes, 'the body');
  if (parsed.status === 'ok') return parsed.value;
  const { detail, faults } = parsed;
  throw new ProblemError('invalid-request', detail, faults.length === 0 ? {} : { errors: faults });
}
