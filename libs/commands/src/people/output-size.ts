import type { Refusal } from '@countersign/contracts';
import { limits } from '@countersign/contracts';
import { refused } from '../result.js';

/**
 * Returns the refusal of a result that is too large to record; undefined when it fits. `at` is its path in the request.
 */
export function oversizeResult(
  result: object,
  at = '',
): { readonly status: 'refused'; readonly refusal: Refusal } | undefined {
  for (const [name, value] of Object.entries(result).filter(([member]) => member === 'output' || member === 'error')) {
    if (Buffer.byteLength(JSON.stringify(value)) <= limits.outputBytesMax) continue;
    const message = `has more than ${String(limits.outputBytesMax)} bytes of JSON`;
    return refused('payload-too-large', `${at}${name} ${message}`, { errors: [{ path: `${at}${name}`, message }] });
  }
  return undefined;
}
