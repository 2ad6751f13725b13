import type { ErrorCode } from '@countersign/contracts';
import type { z } from 'zod';

const statuses: Partial<Record<ErrorCode, number>> = {
  'invalid-request': 400,
  forbidden: 403,
  'not-found': 404,
  'invalid-arguments': 422,
};

/** Refuses a request. The status is that of the code. */
export function refuse(code: ErrorCode, more: object = {}): Response {
  const status = statuses[code] ?? 409;
  const instance = globalThis.crypto.randomUUID();
  const problem = { type: `/problems/${code}`, title: code, detail: code, instance, ...more, status, code };
  const headers = { 'content-type': 'application/problem+json; charset=utf-8' };
  return new Response(JSON.stringify(problem), { status, headers });
}

/** Refuses a body that does not match its schema, and names each place. */
export function refuseBody({ issues }: z.ZodError): Response {
  const errors = issues.flatMap((issue) => {
    const keys = issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [key]) : [[]];
    return keys.map((key) => ({ path: [...issue.path, ...key].join('.'), message: issue.message }));
  });
  const detail = errors.map(({ path, message }) => `${path}: ${message}`).join('; ');
  return refuse('invalid-request', { detail, errors });
}
