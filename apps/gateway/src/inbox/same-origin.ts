import { ProblemError } from '@countersign/shell';
import type { FastifyRequest } from 'fastify';

/** The header that the inbox sends with every change; another site's page cannot, without asking first and being refused. */
export const clientHeader = 'countersign-client';

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
  if (request.method !== 'GET' && request.headers[clientHeader] !== 'inbox') {
    throw new ProblemError('forbidden', `a change with a session needs the header ${clientHeader}: inbox`);
  }
}

function originHost(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined;
}
