import type { FastifyReply, FastifyRequest } from 'fastify';

/** The cookie of a session. No script reads it, and no other site makes a browser send it. */
const sessionCookie = 'countersign_session';
/** The cookie of a sign-in that is running at an OIDC provider: it must come back with a link from there. */
const signInCookie = 'countersign_sign_in';
/** The attack: another host of our domain plants a cookie of its own. A browser takes this name from our host over https alone. */
const hostPrefix = '__Host-';

/** The session id that a request carries. */
export function sessionIdOf(request: FastifyRequest, publicUrl: URL | undefined): string | undefined {
  return cookieOf(request, sessionCookie, publicUrl);
}

/** The sealed sign-in that a request carries. */
export function signInOf(request: FastifyRequest, publicUrl: URL | undefined): string | undefined {
  return cookieOf(request, signInCookie, publicUrl);
}

/** Without the prefix only where people do not come over https. */
function cookieOf({ headers }: FastifyRequest, name: string, publicUrl: URL | undefined): string | undefined {
  const pairs = headers.cookie?.split(/; */) ?? [];
  const find = (start: string) => pairs.find((pair) => pair.startsWith(start))?.slice(start.length);
  const safe = find(`${hostPrefix}${name}=`);
  return safe ?? (publicUrl?.protocol === 'https:' ? undefined : find(`${name}=`));
}

/** Gives a browser its session, for as long as it lasts on the server. */
export function setSessionCookie(reply: FastifyReply, id: string, options: CookieOptions): void {
  setCookie(reply, sessionCookie, id, { ...options, sameSite: 'strict' });
}

/** Takes the session from a browser. */
export function clearSessionCookie(reply: FastifyReply, secure: boolean): void {
  setCookie(reply, sessionCookie, '', { secure, maxAgeS: 0, sameSite: 'strict' });
}

/** Gives a browser its sealed sign-in; with an empty value and `maxAgeS` 0 takes it back. */
export function setSignInCookie(reply: FastifyReply, sealed: string, options: CookieOptions): void {
  setCookie(reply, signInCookie, sealed, { ...options, sameSite: 'lax' });
}

/** What differs between one cookie and another. */
export interface CookieOptions {
  /** Over https alone. */
  readonly secure: boolean;
  readonly maxAgeS: number;
}

/** Sets a cookie that no script can read, beside those that are set already. The value is base64url, which needs no escapes. */
function setCookie(
  reply: FastifyReply,
  name: string,
  value: string,
  { secure, maxAgeS, sameSite }: CookieOptions & { readonly sameSite: 'strict' | 'lax' },
): void {
  const site = sameSite === 'strict' ? 'Strict' : 'Lax';
  const attributes = ['Path=/', `Max-Age=${maxAgeS}`, 'HttpOnly', `SameSite=${site}`, ...(secure ? ['Secure'] : [])];
  void reply.header('set-cookie', [`${secure ? hostPrefix : ''}${name}=${value}`, ...attributes].join('; '));
}
