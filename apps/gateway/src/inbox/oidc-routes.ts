import { ProblemError } from '@countersign/shell';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { inboxPolicy } from './inbox-files.js';
import type { Oidc } from './oidc.js';
import { createRunningSignIns, signInMsMax } from './running-sign-ins.js';
import { giveSession, isHttps } from './session-routes.js';
import type { Reach, SessionRoutesPorts } from './session-routes.js';
import { setSignInCookie, signInOf } from './session-cookie.js';
import { TokenRefusedError } from './token-refused.js';

const callbackPath = '/session/oidc/callback';
const secretBytes = 32;

/**
 * `GET /session/oidc` redirects a person to the provider, and the callback opens a session. The browser holds the
 * running sign-in in a sealed cookie, so a callback is accepted only from the browser that started it.
 */
export function addOidcRoutes(
  fastify: FastifyInstance,
  ports: SessionRoutesPorts & { readonly oidc: Oidc },
  { publicUrl }: Reach,
): void {
  const { oidc, sessions, clock, ids, log } = ports;
  const running = createRunningSignIns(oidc.secret ?? ids.randomBytes(secretBytes), { clock, ids });
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
    const sealed = running.begin({ ...signIn, redirectUri, returnTo: safePath(returnTo) });
    setSignInCookie(reply, sealed, { secure: secureOf(request), maxAgeS: signInMsMax / 1000 });
    return reply.redirect(location, 302);
  });

  fastify.get(callbackPath, async (request, reply) => {
    // Single use: a second callback is another person's copy.
    const signIn = running.take(signInOf(request, publicUrl) ?? '');
    if (signIn === undefined) {
      throw new ProblemError('forbidden', 'no sign-in is running in this browser: start again');
    }
    const query = request.url.slice(callbackPath.length);
    const person = await oidc.finish(new URL(`${signIn.redirectUri}${query}`), signIn).catch((error: unknown) => {
      log.warn({ error, from: request.ip }, 'refused: the OIDC sign-in failed');
      ports.use?.signInRefused('provider');
      const why = error instanceof TokenRefusedError ? `, because of the ID token: ${error.message}` : '';
      throw new ProblemError('forbidden', `the sign-in was refused${why}. Start again`);
    });
    setSignInCookie(reply, '', { secure: secureOf(request), maxAgeS: 0 });
    const opened = sessions.openFor(person);
    giveSession({ request, reply, sessions }, opened, { publicUrl, nowMs: clock.now() });
    ports.use?.signedIn(opened.actor, 'oidc');
    log.info({ principal: person.principal, tenant: person.tenant }, 'signed in');
    // A page instead of a redirect: browsers withhold a strict cookie after a redirect from another site.
    return reply
      .headers({ 'content-type': 'text/html; charset=utf-8', 'content-security-policy': inboxPolicy })
      .send(returnPage(signIn.returnTo));
  });
}

/** A path of ours; anything else, such as `//evil.example`, becomes the start page. */
function safePath(returnTo: unknown): string {
  return typeof returnTo === 'string' &&
    /^\/(?:(?:a|approvals|runs|calls|policy)\/[\w%.~-]+|history|insights|oversight|unknown|grants|policy|)$/.test(
      returnTo,
    )
    ? returnTo
    : '/';
}

function returnPage(path: string): string {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Countersign</title><meta http-equiv="refresh" content="0;url=${path}"><p><a href="${path}">Go on to Countersign</a></p></html>`;
}
