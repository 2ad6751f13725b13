import type { FastifyReply, FastifyRequest } from 'fastify';

/** The cookie of a session. No script reads it, and no other site makes a browser send it. */
const sessionCookie = 'countersign_session';
/** The cookie of a running OIDC sign-in. It is sent with the redirect from the provider. */
const signInCookie = 'countersign_sign_in';
/** Attack: another host of our domain sets the same cookie. Browsers accept this name only from our host over https. */
const hostPrefix = '__Host-';

/** The session id that a request carries. */
export function sessionIdOf(request: FastifyRequest, publicUrl: URL | undefined): string | undefined {
  return cookieOf(request, sessionCookie, publicUrl);
}

/** The sealed sign-in that a request carries. */
export function signInOf(request: FastifyRequest, publicUrl: URL | undefined): string | undefined {
  return cookieOf(request, signInCookie, publicUrl);
}

/** Without the prefix only when people do not use https. */
function cookieOf({ headers }: FastifyRequest, name: string, publicUrl: URL | undefined): string | undefined {
  const pairs = headers.cookie?.split(/; */) ?? [];
  const find = (start: string) => pairs.find((pair) => pair.startsWith(start))?.slice(start.length);
  const safe = find(`${hostPrefix}${name}=`);
  return safe ?? (publicUrl?.protocol === 'https:' ? undefined : find(`${name}=`));
}

/** Sets the session cookie, for the lifetime of the session on the server. */
export function setSessionCookie(reply: FastifyReply, id: string, options: CookieOptions): void {
  setCookie(reply, sessionCookie, id, { ...options, sameSite: 'strict' });
}

/** Removes the session cookie. */
export function clearSessionCookie(reply: FastifyReply, secure: boolean): void {
  setCookie(reply, sessionCookie, '', { secure, maxAgeS: 0, sameSite: 'strict' });
}

/** Sets the sealed sign-in cookie; an empty value with `maxAgeS` 0 removes it. */
export function setSignInCookie(reply: FastifyReply, sealed: string, options: CookieOptions): void {
  setCookie(reply, signInCookie, sealed, { ...options, sameSite: 'lax' });
}

/** The differences between the cookies. */
export interface CookieOptions {
  /** Over https alone. */
  readonly secure: boolean;
  readonly maxAgeS: number;
}

/** Adds a cookie that scripts cannot read. The value is base64url, which needs no escapes. */
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
