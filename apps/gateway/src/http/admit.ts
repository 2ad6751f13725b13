import type { Actor } from '@countersign/commands';
import type { FastifyRequest } from 'fastify';
import { sessionIdOf } from '../inbox/session-cookie.js';
import type { Caps, StrangerRequest } from '../limits/caps.js';
import { isOpenLogRead } from '../log-tiles.js';
import type { GatewayPorts } from '../ports.js';
import { authenticate } from './authenticate.js';
import { createHostCheck } from './served-hosts.js';
import type { ServedAddress } from './served-hosts.js';

/** Admits a request: authenticates the sender where the path needs it, and counts the request. */
export interface Admission {
  /** Returns the sender, or undefined on a public path. @throws ProblemError `unauthenticated`, `forbidden`, `too-many-requests`, `misdirected-request`. */
  readonly admit: (request: FastifyRequest) => Actor | undefined | Promise<Actor>;
}

/** Admission over the caps of the process. */
export function createAdmission(
  ports: GatewayPorts,
  { caps, host, publicUrl }: ServedAddress & { readonly caps: Caps },
): Admission {
  const refuseForeignHost = createHostCheck({ host, publicUrl }, ports.log);
  const countUnproved = (request: FastifyRequest): void => {
    caps.countStranger(request, 'unproved');
  };
  const counted = (actor: Actor, request: FastifyRequest): Actor => {
    caps.countRequest(actor, request);
    return actor;
  };
  const admitPublic = (request: FastifyRequest, path: string): void => {
    const kind = kindOf(request.method, path);
    if (kind === undefined) return;
    const id = ports.sessions === undefined ? undefined : sessionIdOf(request, publicUrl);
    const actor = id === undefined ? undefined : ports.sessions?.actorOf(id);
    if (actor === undefined) caps.countStranger(request, kind);
    else caps.countRequest(actor, request);
  };
  return {
    admit: (request) => {
      refuseForeignHost(request);
      if (isOpenRead(ports, request)) {
        caps.countStranger(request, 'page');
        return undefined;
      }
      if (!request.url.startsWith('/v1/')) {
        admitPublic(request, request.url.split('?', 1)[0] ?? '');
        return undefined;
      }
      const actor = authenticate(ports, request, publicUrl, countUnproved);
      return actor instanceof Promise ? actor.then((proved) => counted(proved, request)) : counted(actor, request);
    },
  };
}

/** Returns whether a request needs no token because the operator opened the hashes of the log. */
export function isOpenRead({ logPublic }: GatewayPorts, { method, url }: FastifyRequest): boolean {
  return logPublic !== undefined && isOpenLogRead(logPublic, method, url.split('?', 1)[0] ?? '');
}

/**
 * Undefined: not counted. A proxy calls `/healthz` and `/readyz` from the address that all its clients share, and a
 * flood must not make the gateway look dead. A sign-in counts only after its token proved wrong, so that a flood from
 * one address does not lock its owner out.
 */
function kindOf(method: string, path: string): StrangerRequest | undefined {
  if (path === '/healthz' || path === '/readyz' || (method === 'POST' && path === '/session')) return undefined;
  if (path === '/metrics') return 'operations';
  return path.startsWith('/session') ? 'sign-in' : 'page';
}
