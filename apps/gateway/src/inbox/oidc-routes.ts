import { ProblemError } from '@countersign/shell';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { inboxPolicy } from './inbox-files.js';
import type { Oidc, RunningSignIn } from './oidc.js';
import { giveSession, isHttps } from './session-routes.js';
import type { Reach, SessionRoutesPorts } from './session-routes.js';
import { cookieOf, setCookie, signInCookie } from './session-cookie.js';

const callbackPath = '/session/oidc/callback';
/** So long may a person take at their provider. */
const signInMsMax = 10 * 60 * 1000;
const runningMax = 10_000;

interface Running extends RunningSignIn {
  readonly redirectUri: string;
  readonly returnTo: string;
  readonly startedAtMs: number;
}

/**
 * `GET /session/oidc` sends a person to their provider, and the callback opens a session for whoever comes back. What runs
 * is remembered here and named by a cookie, so that an answer is taken only from the browser that asked.
 */
export function addOidcRoutes(
  fastify: FastifyInstance,
  ports: SessionRoutesPorts & { readonly oidc: Oidc },
  { publicUrl }: Reach,
): void {
  const { oidc, sessions, clock, ids, log } = ports;
  const running = new Map<string, Running>();
  const secureOf = (request: FastifyRequest) => isHttps(request, publicUrl);
  const originOf = ({ protocol, headers }: FastifyRequest) =>
    publicUrl?.origin ?? `${protocol}://${headers.host ?? 'localhost'}`;

  fastify.get('/session/oidc', async (request, reply) => {
    const { returnTo } = request.query as { readonly returnTo?: unknown };
    const redirectUri = `${originOf(request)}${callbackPath}`;
    const { location, ...signIn } = await oidc.begin(redirectUri).catch((error: unknown) => {
      log.error({ error }, 'the OIDC provider cannot be reached');
      throw new ProblemError('unavailable', 'the sign-in provider cannot be reached');
    });
    forgetOld(running, clock.now() - signInMsMax);
    const id = Buffer.from(ids.randomBytes(32)).toString('base64url');
    running.set(id, { ...signIn, redirectUri, returnTo: safePath(returnTo), startedAtMs: clock.now() });
    const cookie = {
      secure: secureOf(request),
      maxAgeS: signInMsMax / 1000,
      sameSite: 'lax',
      path: '/session',
    } as const;
    setCookie(reply, signInCookie, id, cookie);
    return reply.redirect(location, 302);
  });

  fastify.get(callbackPath, async (request, reply) => {
    const id = cookieOf(request, signInCookie) ?? '';
    const signIn = running.get(id);
    // Once: what is repeated is somebody else's copy.
    running.delete(id);
    if (signIn === undefined || signIn.startedAtMs < clock.now() - signInMsMax) {
      throw new ProblemError('forbidden', 'no sign-in is running in this browser: start again');
    }
    const query = request.url.slice(callbackPath.length);
    const person = await oidc.finish(new URL(`${signIn.redirectUri}${query}`), signIn).catch((error: unknown) => {
      log.warn({ error, from: request.ip }, 'refused: the OIDC sign-in did not prove anybody');
      throw new ProblemError('forbidden', 'the sign-in was refused: start again');
    });
    giveSession(request, reply, sessions.openFor(person), { publicUrl, nowMs: clock.now() });
    log.info({ principal: person.principal, tenant: person.tenant }, 'signed in');
    // A page of ours, not a redirect: after one that began elsewhere, browsers hold a strict cookie back.
    return reply
      .headers({ 'content-type': 'text/html; charset=utf-8', 'content-security-policy': inboxPolicy })
      .send(returnPage(signIn.returnTo));
  });
}

function forgetOld(running: Map<string, Running>, beforeMs: number): void {
  // In order of their start.
  for (const [id, { startedAtMs }] of running) {
    if (startedAtMs >= beforeMs && running.size < runningMax) return;
    running.delete(id);
  }
}

/** A path of ours; anything else, such as `//evil.example`, becomes the start page. */
function safePath(returnTo: unknown): string {
  return typeof returnTo === 'string' &&
    /^\/(?:(?:a|approvals|runs|calls)\/[\w%.~-]+|history|insights|)$/.test(returnTo)
    ? returnTo
    : '/';
}

function returnPage(path: string): string {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Countersign</title><meta http-equiv="refresh" content="0;url=${path}"><p><a href="${path}">Go on to Countersign</a></p></html>`;
}
