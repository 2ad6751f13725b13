import type { Actor } from '@countersign/commands';
import { ProblemError } from '@countersign/shell';
import type { FastifyRequest } from 'fastify';
import { proveByOidc } from '../inbox/oidc-bearer.js';
import { refuseForgedRequest, refusePageOfAnother } from '../inbox/same-origin.js';
import { sessionIdOf } from '../inbox/session-cookie.js';
import type { GatewayPorts } from '../ports.js';
import type { BearerVia } from '../tokens.js';
import { personOf } from './person-of-front-end.js';

const bearer = /^Bearer +([\x21-\x7e]+) *$/i;

/**
 * Authenticates a request by its bearer token, with the person whom a front end names, or without one by the session cookie of the inbox. Returns a promise
 * when the token may be signed by an OIDC provider.
 * @param beforeUnproved is called before a sender is refused, and before the signature of a token that was never valid
 *   is checked; it may refuse by throwing.
 * @throws ProblemError `unauthenticated`; the credential is never repeated or logged. `forbidden` when a page of
 *   another site used the session, and when the token may not speak for the person whom the headers name.
 */
export function authenticate(
  ports: GatewayPorts,
  request: FastifyRequest,
  publicUrl: URL | undefined,
  beforeUnproved: (request: FastifyRequest) => void = () => undefined,
): Actor | Promise<Actor> {
  const { authorization } = request.headers;
  const named = (actor: Actor): Actor => {
    try {
      return namedBy(request, personOf(request, actor), ports);
    } catch (error) {
      beforeUnproved(request);
      noteForeignPerson(ports, request, actor, error);
      throw error;
    }
  };
  const refuse = (why: string): never => {
    beforeUnproved(request);
    throw unauthenticated(ports, request, why);
  };
  if (authorization === undefined) {
    const signedIn = sessionActor(ports, request, publicUrl);
    return signedIn === undefined ? refuse('no token') : named(signedIn);
  }
  const [, token] = bearer.exec(authorization) ?? [];
  if (token === undefined) return refuse('not a bearer token');
  const via = viaOf(request);
  const known = ports.tokens.actorOf(token, via);
  if (known !== undefined) return named(known);
  if (ports.oidc?.wasValid(token) !== true) beforeUnproved(request);
  return providerActor(ports, request, token, via).then(named);
}

/** A token that speaks for people who are not its own. The headers are not logged: they have names. */
function noteForeignPerson(
  { log, metrics }: GatewayPorts,
  { url }: FastifyRequest,
  actor: Actor,
  error: unknown,
): void {
  if (!(error instanceof ProblemError) || error.refusal.code !== 'forbidden') return;
  const { principal, tenant } = actor;
  log.warn({ principal, tenant, path: url.split('?', 1)[0] }, 'refused: may not speak for this person');
  metrics.refusedAtTheDoor('forbidden');
}

/** A client names itself. Only the assurance depends on it, and no name raises it. */
function viaOf({ headers }: FastifyRequest): BearerVia {
  const client = headers['countersign-client'];
  return client === 'cli' || client === 'mcp' ? client : 'api';
}

const clientName = /^[\x20-\x7e]{1,128}$/;

/**
 * The actor with the name that its client gives itself, and the address where the operator records it. Both are recorded
 * with what a person decides. The name proves nothing.
 */
function namedBy({ headers, ip }: FastifyRequest, actor: Actor, { recordsAddresses = false }: GatewayPorts): Actor {
  const client = headers['countersign-client'];
  // The same object, so that it is known to be the same sender.
  if (client === undefined && !recordsAddresses) return actor;
  return {
    ...actor,
    ...(typeof client === 'string' && clientName.test(client) && { client }),
    ...(recordsAddresses && { address: ip }),
  };
}

function sessionActor(ports: GatewayPorts, request: FastifyRequest, publicUrl: URL | undefined): Actor | undefined {
  const id = ports.sessions === undefined ? undefined : sessionIdOf(request, publicUrl);
  const actor = id === undefined ? undefined : ports.sessions?.actorOf(id);
  if (actor === undefined) return undefined;
  refuseForgedRequest(request, publicUrl);
  refusePageOfAnother(request, actor);
  return actor;
}

/** Only a token in the form of a signed JWT is checked against the provider's keys. */
function providerActor(ports: GatewayPorts, request: FastifyRequest, token: string, via: BearerVia): Promise<Actor> {
  const { oidc } = ports;
  if (oidc === undefined || token.split('.').length !== 3) throw unauthenticated(ports, request, 'unknown token');
  return proveByOidc(oidc, token, via).then((proved) => {
    if (!('status' in proved)) return proved;
    if (proved.status === 'refused')
      throw unauthenticated(ports, request, proved.why, `the token is not valid: ${proved.why}`);
    throw new ProblemError('unavailable', 'the provider of the token cannot be reached');
  });
}

const notOurs: ReadonlySet<string> = new Set(['unknown token', 'not a bearer token']);
const unknownToken = 'the token is not valid: send one of the tokens file as Authorization: Bearer <token>';

function unauthenticated(
  { log, metrics, use }: GatewayPorts,
  request: FastifyRequest,
  why: string,
  detail = why === 'no token' ? 'send a token as Authorization: Bearer <token>' : unknownToken,
): ProblemError {
  const path = request.url.split('?', 1)[0];
  log.warn({ method: request.method, path, from: request.ip, why }, 'refused: not authenticated');
  metrics.refusedAtTheDoor('unauthenticated');
  // A request without a token is no attempt: a page asks before its reader has signed in.
  if (why !== 'no token') use?.signInRefused(notOurs.has(why) ? 'unknown token' : 'provider');
  return new ProblemError('unauthenticated', detail);
}
