import type { FastifyReply, FastifyRequest } from 'fastify';

/** The cookie of a session. No script reads it, and no other site makes a browser send it. */
export const sessionCookie = 'countersign_session';
/** The cookie of a sign-in that is running at an OIDC provider: it must come back with a link from there. */
export const signInCookie = 'countersign_sign_in';

/** The session id that a request carries. */
export function sessionIdOf(request: FastifyRequest): string | undefined {
  return cookieOf(request, sessionCookie);
}

/** A cookie of a request. */
export function cookieOf({ headers }: FastifyRequest, name: string): string | undefined {
  const start = `${name}=`;
  return headers.cookie
    ?.split(/; */)
    .find((pair) => pair.startsWith(start))
    ?.slice(start.length);
}

/** Gives a browser its session, for as long as it lasts on the server. */
export function setSessionCookie(reply: FastifyReply, id: string, options: CookieOptions): void {
  setCookie(reply, sessionCookie, id, { ...options, sameSite: 'strict', path: '/' });
}

/** Takes the session from a browser. */
export function clearSessionCookie(reply: FastifyReply, secure: boolean): void {
  setCookie(reply, sessionCookie, '', { secure, maxAgeS: 0, sameSite: 'strict', path: '/' });
}

/** What differs between one cookie and another. */
export interface CookieOptions {
  /** Over https alone. */
  readonly secure: boolean;
  readonly maxAgeS: number;
}

/** Sets a cookie that no script can read. The value is one of our own ids: base64url, which needs no escapes. */
export function setCookie(
  reply: FastifyReply,
  name: string,
  value: string,
  { secure, maxAgeS, sameSite, path }: CookieOptions & { readonly sameSite: 'strict' | 'lax'; readonly path: string },
): void {
  const site = sameSite === 'strict' ? 'Strict' : 'Lax';
  const attributes = [
    `Path=${path}`,
    `Max-Age=${maxAgeS}`,
    'HttpOnly',
    `SameSite=${site}`,
    ...(secure ? ['Secure'] : []),
  ];
  void reply.header('set-cookie', [`${name}=${value}`, ...attributes].join('; '));
}
