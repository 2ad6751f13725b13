import type { Actor } from '@countersign/commands';
import { ProblemError } from '@countersign/shell';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Caps } from '../limits/caps.js';
import type { GatewayPorts } from '../ports.js';
import { parseWith } from '../validation.js';
import { refuseForeignOrigin, refuseForgedRequest } from './same-origin.js';
import { clearSessionCookie, sessionIdOf, setSessionCookie } from './session-cookie.js';
import type { OpenedSession, Sessions } from './sessions.js';

const signInBytesMax = 16 * 1024;
const signInSchema = z.strictObject({ token: z.string().min(1).max(4096) });

/** The dependencies of the session routes. */
export interface SessionRoutesPorts extends GatewayPorts {
  readonly sessions: Sessions;
}

/** The public URL of the gateway, if configured. */
export interface Reach {
  readonly publicUrl: URL | undefined;
}

/**
 * `POST /session` signs in with a token, `GET /session` returns the signed-in person, `DELETE /session` signs out. Only
 * the inbox uses them; programs send their token with each request.
 */
export function addSessionRoutes(
  fastify: FastifyInstance,
  ports: SessionRoutesPorts & Pick<Caps, 'countStranger'>,
  { publicUrl }: Reach,
): void {
  const { sessions, log, metrics } = ports;
  fastify.get('/session', (request, reply) => {
    refuseForeignOrigin(request, publicUrl);
    const id = sessionIdOf(request, publicUrl);
    const actor = id === undefined ? undefined : sessions.actorOf(id);
    sendJson(reply, 200, {
      actor: actor === undefined ? null : toView(actor),
      isOidcOffered: ports.oidc !== undefined,
    });
  });
  fastify.post('/session', { bodyLimit: signInBytesMax }, (request, reply) => {
    refuseForeignOrigin(request, publicUrl);
    const { token } = parseWith(signInSchema, request.body);
    const opened = sessions.openWithToken(token);
    if (opened === undefined) {
      ports.countStranger(request, 'unproved');
      log.warn({ path: '/session', from: request.ip, why: 'unknown token' }, 'refused: not authenticated');
      metrics.refusedAtTheDoor('unauthenticated');
      ports.use?.signInRefused('unknown token');
      throw new ProblemError('unauthenticated', 'the token is not valid');
    }
    giveSession({ request, reply, sessions }, opened, { publicUrl, nowMs: ports.clock.now() });
    ports.use?.signedIn(opened.actor, 'token');
    sendJson(reply, 201, { actor: toView(opened.actor) });
  });
  fastify.delete('/session', (request, reply) => {
    refuseForgedRequest(request, publicUrl);
    const id = sessionIdOf(request, publicUrl);
    if (id !== undefined) sessions.close(id);
    clearSessionCookie(reply, isHttps(request, publicUrl));
    void reply.code(204).send();
  });
}

/** Sets the cookie of a session just opened, which ends when the session does, and ends the browser's session before it. */
export function giveSession(
  { request, reply, sessions }: { request: FastifyRequest; reply: FastifyReply; sessions: Sessions },
  { id, expiresAtMs }: OpenedSession,
  { publicUrl, nowMs }: Reach & { readonly nowMs: number },
): void {
  const before = sessionIdOf(request, publicUrl);
  if (before !== undefined) sessions.close(before);
  const maxAgeS = Math.ceil((expiresAtMs - nowMs) / 1000);
  setSessionCookie(reply, id, { secure: isHttps(request, publicUrl), maxAgeS });
}

/**
 * Returns whether the browser uses https: from the page's origin, which also works behind a proxy, otherwise from the
 * configured public URL.
 */
export function isHttps({ headers, protocol }: FastifyRequest, publicUrl: URL | undefined): boolean {
  return (headers.origin ?? publicUrl?.origin ?? `${protocol}:`).startsWith('https:');
}

function toView({ principal, tenant, roles, groups }: Actor) {
  return { principal, tenant, roles: [...roles], groups };
}

function sendJson(reply: FastifyReply, status: number, body: unknown): void {
  void reply.code(status).header('content-type', 'application/json; charset=utf-8').send(JSON.stringify(body));
}
