import type { Actor } from '@countersign/commands';
import { ProblemError } from '@countersign/shell';
import type { FastifyRequest } from 'fastify';
import { proveByOidc } from '../inbox/oidc-bearer.js';
import { refuseForgedRequest } from '../inbox/same-origin.js';
import { sessionIdOf } from '../inbox/session-cookie.js';
import type { GatewayPorts } from '../ports.js';

const bearer = /^Bearer +([\x21-\x7e]+) *$/i;

/**
 * Who sends a request, by its bearer token; a request without one may carry the session of a person at the inbox.
 * A promise where the token is one that an OIDC provider may have signed.
 * @throws ProblemError `unauthenticated`; what was sent instead of a token is never told or logged. `forbidden` when a page
 * of another site used the session.
 */
export function authenticate(
  ports: GatewayPorts,
  request: FastifyRequest,
  publicUrl: URL | undefined,
): Actor | Promise<Actor> {
  const { authorization } = request.headers;
  if (authorization === undefined) return sessionActor(ports, request, publicUrl);
  const [, token] = bearer.exec(authorization) ?? [];
  if (token === undefined) throw unauthenticated(ports, request, 'not a bearer token');
  const via = request.headers['countersign-client'] === 'cli' ? 'cli' : 'api';
  return ports.tokens.actorOf(token, via) ?? providerActor(ports, request, token, via);
}

function sessionActor(ports: GatewayPorts, request: FastifyRequest, publicUrl: URL | undefined): Actor {
  const id = ports.sessions === undefined ? undefined : sessionIdOf(request, publicUrl);
  const actor = id === undefined ? undefined : ports.sessions?.actorOf(id);
  if (actor === undefined) throw unauthenticated(ports, request, 'no token');
  refuseForgedRequest(request, publicUrl);
  return actor;
}

/** Only what has the form of a signed token is worth asking the provider's keys. */
function providerActor(
  ports: GatewayPorts,
  request: FastifyRequest,
  token: string,
  via: 'api' | 'cli',
): Promise<Actor> {
  const { oidc } = ports;
  if (oidc === undefined || token.split('.').length !== 3) throw unauthenticated(ports, request, 'unknown token');
  return proveByOidc(oidc, token, via).then((actor) => {
    if (actor === undefined) throw unauthenticated(ports, request, 'unknown token');
    return actor;
  });
}

function unauthenticated({ log, metrics }: GatewayPorts, request: FastifyRequest, why: string): ProblemError {
  const path = request.url.split('?', 1)[0];
  log.warn({ method: request.method, path, from: request.ip, why }, 'refused: not authenticated');
  metrics.refusedAtTheDoor('unauthenticated');
  return new ProblemError(
    'unauthenticated',
    why === 'no token' ? 'send a token as Authorization: Bearer <token>' : 'the token is not valid',
  );
}
