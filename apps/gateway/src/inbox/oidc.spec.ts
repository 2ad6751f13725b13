import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { systemClock } from '@countersign/runtime';
import { SignJWT } from 'jose';
import { openOidcProvider } from '../testing/oidc-provider.js';
import type { OidcProvider, Said } from '../testing/oidc-provider.js';
import { createSessionStore } from '../sqlite/session-store.js';
import { sendPipelined } from '../testing/pipelined.js';
import { openWorld } from '../testing/world.js';
import type { World } from '../testing/world.js';
import { createOidc } from './oidc.js';
import { createSessions } from './sessions.js';

const audience = 'https://countersign.example/api';
let provider: OidcProvider;
let world: World;
let aheadMs: number;

beforeEach(async () => {
  aheadMs = 0;
  provider = await openOidcProvider();
  const system = systemClock;
  world = await openWorld({
    clock: { ...system, now: () => system.now() + aheadMs, monotonic: () => system.monotonic() + aheadMs },
    change: (ports) => ({
      ...ports,
      sessions: createSessions({ ...ports, store: createSessionStore(':memory:') }),
      oidc: createOidc(
        {
          issuer: new URL(provider.issuer),
          clientId: 'countersign',
          clientSecret: null,
          audience,
          rolesClaim: 'roles',
          groupsClaim: 'groups',
          tenant: 'default',
        },
        { clock: system, log: ports.log },
      ),
    }),
  });
});
afterEach(async () => {
  await world.close();
  await provider.close();
});

/** A browser's cookies by their names. */
const cookiesOf = (response: Response): ReadonlyMap<string, string> =>
  new Map(response.headers.getSetCookie().map((cookie) => [cookie.split('=', 1)[0] ?? '', cookie.split(';')[0] ?? '']));

interface SignIn {
  /** The provider's URL for the browser. */
  readonly callback: URL;
  readonly cookie: string;
}

/** The sign-in up to the provider's response. */
async function signIn(returnTo = '/'): Promise<SignIn> {
  const begun = await fetch(`${world.url}/session/oidc?returnTo=${encodeURIComponent(returnTo)}`, {
    redirect: 'manual',
  });
  const back = await fetch(begun.headers.get('location') ?? '', { redirect: 'manual' });
  const cookie = cookiesOf(begun).get('countersign_sign_in') ?? '';
  return { callback: new URL(back.headers.get('location') ?? ''), cookie };
}

const comeBack = ({ callback, cookie }: SignIn) => fetch(callback, { headers: { cookie }, redirect: 'manual' });

/** The response to the browser, and whether it has a session. */
async function outcomeOf(signedIn: SignIn): Promise<readonly [number, boolean]> {
  const answer = await comeBack(signedIn);
  return [answer.status, cookiesOf(answer).has('countersign_session')];
}
const [taken, refused] = [[200, true] as const, [403, false] as const];

const changed = ({ callback, cookie }: SignIn, name: string, value: string | null): SignIn => {
  const url = new URL(callback);
  if (value === null) url.searchParams.delete(name);
  else url.searchParams.set(name, value);
  return { callback: url, cookie };
};

describe('a sign-in at a provider', () => {
  it('opens a session for issuer and subject, with the roles that we know', async () => {
    const answer = await comeBack(await signIn());
    const cookie = cookiesOf(answer).get('countersign_session') ?? '';
    const session = await fetch(`${world.url}/session`, { headers: { cookie } });
    expect(await session.json()).toEqual({
      actor: { principal: `${provider.issuer}#alice`, tenant: 'default', roles: ['approver'], groups: ['ops'] },
      isOidcOffered: true,
    });
  });

  it('is refused for a subject that looks like another, and gives no group that does', async () => {
    provider.lie = { claims: { sub: 'ali\u200bce' } };
    expect(await outcomeOf(await signIn())).toEqual(refused);
    provider.lie = { claims: { groups: ['op\u200bs', '\uff4fps', 'finance'] } };
    const cookie = cookiesOf(await comeBack(await signIn())).get('countersign_session') ?? '';
    const session = await fetch(`${world.url}/session`, { headers: { cookie } });
    expect(await session.json()).toMatchObject({ actor: { groups: ['finance'] } });
  });

  it('is taken once', async () => {
    const signedIn = await signIn();
    expect([await outcomeOf(signedIn), await outcomeOf(signedIn)]).toEqual([taken, refused]);
  });

  it('is taken only from the browser that began it', async () => {
    const [mine, theirs] = [await signIn(), await signIn()];
    expect(await outcomeOf({ ...mine, cookie: '' })).toEqual(refused);
    expect(await outcomeOf({ ...mine, cookie: theirs.cookie })).toEqual(refused);
    expect(await outcomeOf(mine)).toEqual(taken);
  });

  it('is refused with another state or none, and used up by that', async () => {
    for (const state of ['other', null]) {
      const signedIn = await signIn();
      expect(await outcomeOf(changed(signedIn, 'state', state))).toEqual(refused);
      expect(await outcomeOf(signedIn)).toEqual(refused);
    }
  });

  it('is refused with the code of another sign-in, used or not', async () => {
    const [used, unused] = [await signIn(), await signIn()];
    expect(await outcomeOf(used)).toEqual(taken);
    for (const { callback } of [used, unused]) {
      const code = callback.searchParams.get('code');
      expect(await outcomeOf(changed(await signIn(), 'code', code))).toEqual(refused);
    }
  });

  it('is refused when it comes from another provider, or with an error', async () => {
    expect(await outcomeOf(changed(await signIn(), 'iss', 'https://evil.example'))).toEqual(refused);
    expect(await outcomeOf(changed(await signIn(), 'error', 'access_denied'))).toEqual(refused);
  });

  it('is not ended by 10,000 sign-ins that others begin', async () => {
    const mine = await signIn();
    const statuses = await sendPipelined(world.url, 'GET /session/oidc HTTP/1.1\r\nhost: localhost\r\n\r\n', 10_000);
    expect(statuses.filter((status) => status !== 302 && status !== 429)).toEqual([]);
    aheadMs = 2000;
    expect(await outcomeOf(mine)).toEqual(taken);
  });

  it('keeps nothing readable in the browser, and is refused with a changed cookie', async () => {
    const mine = await signIn();
    const state = mine.callback.searchParams.get('state') ?? 'none';
    expect(Buffer.from(mine.cookie.split('=')[1] ?? '', 'base64url').toString('latin1')).not.toContain(state);
    expect(await outcomeOf({ ...mine, cookie: `${mine.cookie.slice(0, -2)}AA` })).toEqual(refused);
    expect(await outcomeOf(mine)).toEqual(taken);
  });

  it('is refused after ten minutes', async () => {
    const signedIn = await signIn();
    aheadMs = 10 * 60_000 + 1000;
    expect(await outcomeOf(signedIn)).toEqual(refused);
  });

  it.each<readonly [string, Said | null]>([
    ['another nonce', { claims: { nonce: 'other' } }],
    ['no nonce', { claims: { nonce: undefined } }],
    ['another issuer', { claims: { iss: 'https://evil.example' } }],
    ['another audience', { claims: { aud: 'another-client' } }],
    ['a deadline that is over', { claims: { exp: Math.floor(Date.now() / 1000) - 3600 } }],
    ['no subject', { claims: { sub: undefined } }],
    ['a subject of blanks', { claims: { sub: '  ' } }],
    ['a subject with an invisible character', { claims: { sub: 'ro\u200bbot' } }],
    ['no signature', { isUnsigned: true }],
    ['no ID token', null],
  ])('is refused when the provider says %s', async (_, lie) => {
    provider.lie = lie;
    expect(await outcomeOf(await signIn())).toEqual(refused);
    provider.lie = {};
    expect(await outcomeOf(await signIn())).toEqual(taken);
  });

  it.each<readonly [string, Said]>([
    ['it has expired (exp)', { claims: { exp: Math.floor(Date.now() / 1000) - 3600 } }],
    ['it is for another audience (aud)', { claims: { aud: 'another-client' } }],
    ['it is not yet valid (nbf)', { claims: { nbf: Math.floor(Date.now() / 1000) + 600 } }],
    ['it was issued in the future (iat)', { claims: { iat: Math.floor(Date.now() / 1000) + 600 } }],
    ['its subject (sub) is empty or no text', { claims: { sub: ' ' } }],
  ])('that is refused says that of the ID token: %s', async (words, lie) => {
    provider.lie = lie;
    const { detail } = (await (await comeBack(await signIn())).json()) as { readonly detail: string };
    expect(detail).toContain(words);
  });

  it('is taken when the clock of the provider is up to a minute ahead or behind', async () => {
    const now = Math.floor(Date.now() / 1000);
    for (const claims of [{ nbf: now + 50, iat: now + 50 }, { exp: now - 50 }]) {
      provider.lie = { claims };
      expect(await outcomeOf(await signIn())).toEqual(taken);
    }
  });

  it.each([
    ['/history', '/history'],
    ['/approvals/apr_x-1', '/approvals/apr_x-1'],
    ['/a/some.token', '/a/some.token'],
    ['//evil.example', '/'],
    ['https://evil.example', '/'],
    ['/\\evil.example', '/'],
    ['/approvals/x"><script>', '/'],
  ])('for %s leads to %s', async (returnTo, path) => {
    expect(await (await comeBack(await signIn(returnTo))).text()).toContain(`content="0;url=${path}"`);
  });
});

describe('an access token of the provider', () => {
  const now = () => Math.floor(Date.now() / 1000);
  const claimsOf = () => ({ iss: provider.issuer, aud: audience, sub: 'robot', exp: now() + 60, roles: ['approver'] });
  const statusOf = async (token: string) => {
    const answer = await fetch(`${world.url}/v1/approvals`, { headers: { authorization: `Bearer ${token}` } });
    return answer.status;
  };

  it('is taken for our audience', async () => {
    expect(await statusOf(await provider.sign(claimsOf()))).toBe(200);
  });

  it.each([
    [{ jti: 't-1', sid: 's-1' }, '#t-1'],
    [{ sid: 's-1' }, '#s-1'],
    [{}, ''],
  ])('tells its holder the id of the token or the sign-in, and when it ends: %j', async (ids, end) => {
    const claims = { ...claimsOf(), ...ids };
    const authorization = `Bearer ${await provider.sign(claims)}`;
    const me = await fetch(`${world.url}/v1/me`, { headers: { authorization } });
    expect(await me.json()).toMatchObject({
      credential: `oidc:${provider.issuer}${end}`,
      expiresAt: new Date(claims.exp * 1000).toISOString(),
    });
  });

  it.each<readonly [string, Said]>([
    ['another audience', { claims: { aud: 'countersign' } }],
    ['another issuer', { claims: { iss: 'https://evil.example' } }],
    ['a deadline that is over', { claims: { exp: 1 } }],
    ['no deadline', { claims: { exp: undefined } }],
    ['no subject', { claims: { sub: undefined } }],
    ['a nonce, as ID tokens have', { claims: { nonce: 'n' } }],
    ['the hash of an access token, as ID tokens have', { claims: { at_hash: 'h' } }],
    ['the type of an ID token', { claims: { typ: 'ID' } }],
    ['the client of the sign-in among its audience', { claims: { aud: [audience, 'countersign'] } }],
    ['an audience that is the client it was made for', { claims: { azp: audience } }],
    ['another type in its header', { type: 'logout+jwt' }],
    ['the signature of another key', { isForged: true }],
    ['no signature', { isUnsigned: true }],
  ])('is refused with %s', async (_, said) => {
    expect(await statusOf(await provider.sign({ ...claimsOf(), ...said.claims }, said))).toBe(401);
  });

  it('of the type at+jwt is taken where audience and client have one name', async () => {
    const claims = { ...claimsOf(), aud: [audience, 'countersign'], azp: audience };
    expect(await statusOf(await provider.sign(claims, { type: 'at+jwt' }))).toBe(200);
    expect(await statusOf(await provider.sign(claims, { type: 'application/at+jwt' }))).toBe(200);
    expect(await statusOf(await provider.sign(claims, { type: 'JWT' }))).toBe(401);
  });

  it('is refused when it is signed with our public key as a shared secret', async () => {
    const secret = new TextEncoder().encode(JSON.stringify(await provider.publicKey()));
    const forged = await new SignJWT(claimsOf()).setProtectedHeader({ alg: 'HS256', kid: 'one' }).sign(secret);
    expect(await statusOf(forged)).toBe(401);
  });
});
