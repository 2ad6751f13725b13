import type { Actor } from '@countersign/commands';
import { ProblemError } from '@countersign/shell';
import type { FastifyRequest } from 'fastify';

/** The header that the inbox sends with every change; another site's page cannot, without asking first and being refused. */
export const clientHeader = 'countersign-client';
/** The header in which a page of the inbox names its person. */
const accountHeader = 'countersign-account';

/**
 * Refuses requests that another site caused. Browsers send the origin in `Sec-Fetch-Site` and, for every change, in
 * `Origin`; a page can set neither.
 * @throws ProblemError `forbidden`.
 */
export function refuseForeignOrigin({ headers }: FastifyRequest, publicUrl: URL | undefined): void {
  const site = headers['sec-fetch-site'];
  const { origin, host } = headers;
  const isForeignSite = site !== undefined && site !== 'same-origin' && site !== 'none';
  const isForeignOrigin = origin !== undefined && originHost(origin) !== host && origin !== publicUrl?.origin;
  if (isForeignSite || isForeignOrigin) throw new ProblemError('forbidden', 'this came from a page of another site');
}

/**
 * Checks a request that is authenticated by a cookie. Browsers attach cookies automatically, so a change also needs the
 * header that only our page sets.
 * @throws ProblemError `forbidden`.
 */
export function refuseForgedRequest(request: FastifyRequest, publicUrl: URL | undefined): void {
  refuseForeignOrigin(request, publicUrl);
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  if (!isRead && request.headers[clientHeader] !== 'inbox') {
    throw new ProblemError('forbidden', `a change with a session needs the header ${clientHeader}: inbox`);
  }
}

/**
 * Refuses a page of the inbox that shows another person than the one who is signed in. The tabs of a browser have one session:
 * otherwise a press on a page that one person left open is the answer of the person who signed in after them.
 * @throws ProblemError `unauthenticated`.
 */
export function refusePageOfAnother({ headers }: FastifyRequest, { tenant, principal }: Actor): void {
  const account = headers[accountHeader];
  if (account === undefined || account === encodeURIComponent(JSON.stringify([tenant, principal]))) return;
  throw new ProblemError('unauthenticated', 'another person has signed in since this page was opened: sign in again');
}

function originHost(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined;
}
