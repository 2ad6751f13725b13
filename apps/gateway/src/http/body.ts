import { ProblemError, parseStrictJson } from '@countersign/shell';
import type { FastifyRequest } from 'fastify';
import { allRoutes } from '../routes.js';
import { invalidRequest } from '../validation.js';

/** The type of a form. */
export const formType = 'application/x-www-form-urlencoded';

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

const formPaths: ReadonlySet<string> = new Set(allRoutes.filter(({ form }) => form === true).map(({ path }) => path));

/**
 * Returns the fields of a form. Attack: a page of another site, which may send forms without being asked, so only routes that
 * record nothing read them.
 * @throws ProblemError `unsupported-media-type`, `invalid-request` for a field that is there twice.
 */
export function parseForm({ url }: Pick<FastifyRequest, 'url'>, text: string): Readonly<Record<string, string>> {
  if (!formPaths.has(url.split('?', 1)[0] ?? '')) {
    throw new ProblemError('unsupported-media-type', 'send the body as application/json');
  }
  const fields = [...new URLSearchParams(text)];
  const twice = fields.find(([name], index) => fields.findIndex(([other]) => other === name) !== index);
  if (twice !== undefined) throw invalidRequest([{ path: twice[0], message: 'must be there once' }]);
  return Object.fromEntries(fields);
}
