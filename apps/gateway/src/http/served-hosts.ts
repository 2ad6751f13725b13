import { isLoopback } from '@countersign/runtime';
import type { Log } from '@countersign/runtime';
import { ProblemError, urlOf } from '@countersign/shell';
import type { FastifyRequest } from 'fastify';

/** How a gateway is reached. */
export interface ServedAddress {
  /** The address that it listens on. */
  readonly host: string;
  readonly publicUrl: URL | undefined;
}

/** Probes and collectors use the address of a container, and get no data of a tenant. */
const probes = new Set(['/healthz', '/readyz', '/metrics']);

/**
 * Returns the check of the `Host` of each request. Without a public URL only this machine is served. The attack: the owner of
 * a name lets it lead here (DNS rebinding), so that a page of theirs is of one origin with the inbox, or a sign-in at a
 * provider comes back to an address of theirs.
 * @throws ProblemError (the check) `misdirected-request`.
 */
export function createHostCheck({ host, publicUrl }: ServedAddress, log: Log): (request: FastifyRequest) => void {
  if (publicUrl !== undefined) return () => undefined;
  const own = hostnameOf(urlOf(host, 0).slice('http://'.length));
  if (!isLoopback(host)) log.warn({ host }, `COUNTERSIGN_PUBLIC_URL is not set: ${served}`);
  // Clients repeat their host in each request.
  let servedLast: string | undefined;
  return ({ headers, url, ip }) => {
    if (headers.host !== undefined && headers.host === servedLast) return;
    const [path = ''] = url.split('?', 1);
    const asked = hostnameOf(headers.host);
    if (asked !== undefined && (isLoopback(asked) || asked === own)) {
      servedLast = headers.host;
      return;
    }
    if (probes.has(path)) return;
    log.warn({ host: headers.host, path, from: ip }, 'refused: this host is not served');
    throw new ProblemError('misdirected-request', `${served}. Set COUNTERSIGN_PUBLIC_URL to serve other hosts`);
  };
}

const served = 'only requests to localhost, a loopback address or the address in COUNTERSIGN_HOST are served';

function hostnameOf(header: string | undefined): string | undefined {
  if (header === undefined || !/^[\w.:[\]-]+$/.test(header)) return undefined;
  const url = `http://${header}`;
  return URL.canParse(url) ? new URL(url).hostname : undefined;
}
