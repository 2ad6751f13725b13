import { ProblemError, parseStrictJson } from '@countersign/shell';

/** A world whose monotonic clock moves only when a test advances it, so that rate limits refill on command. */
export function parseBody(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined;
  const parsed = parseStrictJson(bytes, 'the body');
  if (parsed.status === 'ok') return parsed.value;
  const { detail, faults } = parsed;
  throw new ProblemError('invalid-request', detail, faults.length === 0 ? {} : { errors: faults });
}
