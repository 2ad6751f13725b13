import { limits, parseBody, requestMessageSchemas, type JsonValue } from '@countersign/contracts';
import type { z } from 'zod';
import { CountersignError, type Problem } from '../errors.js';
import { problemWithin } from '../tools/recordable.js';
import type { PublishedRequest } from './publish-request.js';

const detailLengthMax = 2000;

/**
 * Throws what the HTTP API refuses before it looks at the ledger. On the topic such a message is parked as a dead letter,
 * and its sender would wait in vain.
 * @throws CountersignError `invalid-request` or `payload-too-large`.
 */
export function checkRequest({ type, data }: PublishedRequest): void {
  const text = JSON.stringify(data);
  if (Buffer.byteLength(text) > limits.bodyBytesMax) {
    throw refusal('payload-too-large', 413, `the request has more than ${String(limits.bodyBytesMax)} bytes of JSON`);
  }
  const value = JSON.parse(text) as JsonValue;
  const problem = problemWithin(value, 1);
  if (problem !== undefined) throw refusal('invalid-request', 400, problem);
  const parsed = parseBody<z.ZodType>(requestMessageSchemas[type], value);
  if (parsed.success) return;
  const errors = parsed.error.issues.map(({ path, message }) => ({ path: path.map(String).join('.'), message }));
  const detail = errors.map(({ path, message }) => `${path}: ${message}`).join('; ');
  throw refusal('invalid-request', 400, detail.slice(0, detailLengthMax), errors);
}

function refusal(code: string, status: number, detail: string, errors?: Problem['errors']): CountersignError {
  const problem = {
    type: 'about:blank',
    title: code,
    status,
    code,
    detail,
    ...(errors === undefined ? {} : { errors }),
  };
  return new CountersignError({ code, problem, message: `${code}: ${detail}` });
}
