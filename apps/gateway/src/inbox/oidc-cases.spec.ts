import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { systemClock } from '@countersign/runtime';
import { createCollectingLog } from '@countersign/runtime/testing';
import type { CollectingLog } from '@countersign/runtime/testing';
import { SignJWT } from 'jose';
import { openOidcProvider } from '../testing/oidc-provider.js';
import type { OidcProvider } from '../testing/oidc-provider.js';
import { openWorld } from '../testing/world.js';
import type { World } from '../testing/world.js';
import type { OidcPorts } from './oidc-access-tokens.js';
import type { OidcConfig } from './oidc-config.js';
import { createOidc } from './oidc.js';
import type { Oidc } from './oidc.js';

type Right = 'approver' | 'no role' | 'refused';

/** What providers really send. `nbf`, `iat` and `exp` are seconds from now; null takes a claim away. */
interface Case {
  readonly name: string;
  readonly claims: Readonly<Record<string, unknown>>;
  readonly right: Right | readonly Right[];
  readonly settings?: Partial<Pick<OidcConfig, 'rolesClaim' | 'groupsClaim'>>;
  readonly alg?: 'none' | 'HS256';
  readonly typ?: string;
  readonly groups?: readonly string[];
  /** A word of the response. */
  readonly says?: string;
  /** A word of the log. */
  readonly logSays?: string;
}

const file = join(import.meta.dirname, '..', 'testing', 'oidc-cases.json');
const cases = JSON.parse(readFileSync(file, 'utf8')) as readonly Case[];
const audience = 'api://countersign';
let provider: OidcProvider;
let world: World;
let log: CollectingLog;
let oidc: Oidc;

beforeAll(async () => {
  provider = await openOidcProvider();
  const asked: Oidc = {
    secret: undefined,
    begin: (...args) => oidc.begin(...args),
    finish: (...args) => oidc.finish(...args),
    verify: (...args) => oidc.verify(...args),
    wasValid: () => false,
  };
  world = await openWorld({ change: (ports) => ({ ...ports, oidc: asked }) });
});
afterAll(async () => {
  await world.close();
  await provider.close();
});
beforeEach(() => {
  log = createCollectingLog();
});

function openOidc(settings: Case['settings'] = {}, clock: OidcPorts['clock'] = systemClock): Oidc {
  const names = { rolesClaim: 'roles', groupsClaim: 'groups', tenant: 'default', ...settings };
  const client = { issuer: new URL(provider.issuer), clientId: 'countersign', clientSecret: null, audience };
  return createOidc({ ...client, ...names }, { clock, log });
}

async function tokenOf({ claims, alg, typ }: Case): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  const all: Record<string, unknown> = { iss: provider.issuer, aud: audience, iat: now, exp: now + 300 };
  for (const [name, value] of Object.entries(claims)) {
    all[name] = typeof value === 'number' && ['nbf', 'iat', 'exp'].includes(name) ? now + value : value;
    if (value === null) Reflect.deleteProperty(all, name);
    if (name === 'iss') all[name] = String(value).replace('<issuer>', provider.issuer);
  }
  if (alg === 'HS256') {
    const secret = new TextEncoder().encode(JSON.stringify(await provider.publicKey()));
    return new SignJWT(all).setProtectedHeader({ alg, kid: 'one' }).sign(secret);
  }
  return provider.sign(all, { isUnsigned: alg === 'none', ...(typ !== undefined && { type: typ }) });
}

const refusalsInLog = () => world.log.entries.filter(({ message }) => message === 'refused: not authenticated');
let compared = 0;
const statusOf: Readonly<Record<Right, number>> = { approver: 200, 'no role': 403, refused: 401 };

it.each(cases.map((one) => [one.name, one] as const))('takes or refuses an access token: %s', async (_, one) => {
  oidc = openOidc(one.settings);
  const token = await tokenOf(one);
  const linesBefore = refusalsInLog().length;
  const answer = await fetch(`${world.url}/v1/approvals`, { headers: { authorization: `Bearer ${token}` } });
  expect([one.right].flat().map((right) => statusOf[right])).toContain(answer.status);
  const { detail = '' } = (await answer.json()) as { readonly detail?: string };
  if (answer.status === 401) {
    // The log of the gateway says the same as the response.
    expect(detail).toMatch(/^the token is not valid: it/);
    const lines = refusalsInLog();
    // It leaves out those beyond a rate.
    if (lines.length > linesBefore) {
      expect(`the token is not valid: ${String(lines.at(-1)?.fields['why'])}`).toBe(detail);
      compared += 1;
    }
  }
  if (one.says !== undefined) expect(detail).toContain(one.says);
  if (one.logSays !== undefined) expect(JSON.stringify(log.entries)).toContain(one.logSays);
  if (one.groups !== undefined) {
    expect(await oidc.verify(token)).toMatchObject({ status: 'valid', person: { groups: one.groups } });
  }
});

it('says in the log what it says in the response', () => {
  expect(compared).toBeGreaterThanOrEqual(20);
});

it('takes a token of the next key at once, and reads the keys no more often for unknown ones', async () => {
  const claims = { iss: provider.issuer, aud: audience, sub: 'u1', exp: Math.floor(Date.now() / 1000) + 300 };
  const verifier = openOidc();
  expect(await verifier.verify(await provider.sign(claims))).toMatchObject({ status: 'valid' });
  const before = provider.keyReads();
  await provider.rotate('next');
  expect(await verifier.verify(await provider.sign(claims))).toMatchObject({ status: 'valid' });
  for (const keyId of ['a', 'b', 'c']) {
    expect(await verifier.verify(await provider.sign(claims, { keyId }))).toMatchObject({ status: 'refused' });
  }
  expect(provider.keyReads()).toBe(before + 1);
  await provider.rotate('one');
});

it('takes tokens of the next key that come together', async () => {
  const claims = { iss: provider.issuer, aud: audience, sub: 'u1', exp: Math.floor(Date.now() / 1000) + 300 };
  const verifier = openOidc();
  await verifier.verify(await provider.sign(claims));
  await provider.rotate('next');
  const token = await provider.sign(claims);
  const verified = await Promise.all([1, 2, 3].map(() => verifier.verify(token)));
  expect(verified.map(({ status }) => status)).toEqual(['valid', 'valid', 'valid']);
  await provider.rotate('one');
});

it('is unavailable for a new key while the keys cannot be read, and takes it a second after they can', async () => {
  const claims = { iss: provider.issuer, aud: audience, sub: 'u1', exp: Math.floor(Date.now() / 1000) + 300 };
  let nowMs = 0;
  const verifier = openOidc({}, { now: systemClock.now, monotonic: () => nowMs });
  await verifier.verify(await provider.sign(claims));
  await provider.rotate('next');
  const token = await provider.sign(claims);
  provider.areKeysDown = true;
  expect(await verifier.verify(token)).toEqual({ status: 'unavailable' });
  provider.areKeysDown = false;
  const before = provider.keyReads();
  nowMs = 999;
  expect(await verifier.verify(token)).toEqual({ status: 'unavailable' });
  expect(provider.keyReads()).toBe(before);
  nowMs = 1_000;
  expect(await verifier.verify(token)).toMatchObject({ status: 'valid' });
  await provider.rotate('one');
});

it('names a token in the record by an id of a bounded length, for each token of a provider', async () => {
  const claims = { iss: provider.issuer, aud: audience, sub: 'u1', exp: Math.floor(Date.now() / 1000) + 300 };
  const credentialOf = async (jti: string) => {
    const verified = await openOidc().verify(await provider.sign({ ...claims, jti }));
    return verified.status === 'valid' ? (verified.person.credential ?? '') : verified.status;
  };
  expect(await credentialOf('j-1')).toBe(`oidc:${provider.issuer}#j-1`);
  const long = await credentialOf('j'.repeat(10_000));
  expect(long.length).toBeLessThan(200);
  expect(await credentialOf('j'.repeat(10_001))).not.toBe(long);
  expect(await credentialOf('j\nx')).toMatch(/#[0-9a-f]{32}$/);
});

it.each([
  ['expired', { exp: -600 }, 'it has expired (exp)'],
  ['of another audience', { aud: 'other' }, 'it is for another audience (aud)'],
  ['not yet valid', { nbf: 600 }, 'it is not yet valid (nbf)'],
  ['of another issuer', { iss: 'https://other.example.com' }, 'it is from another issuer (iss)'],
  ['without an end', { exp: null }, 'its claim "exp" is missing'],
])('says that a token is %s', async (_, claims, words) => {
  const token = await tokenOf({ name: '', claims: { sub: 'u1', ...claims }, right: 'refused' });
  const why = expect.stringContaining(words) as unknown;
  expect(await openOidc().verify(token)).toEqual({ status: 'refused', why });
});

it('says that the key of a token is unknown, and that a signature is wrong', async () => {
  const claims = { iss: provider.issuer, aud: audience, sub: 'u1', exp: Math.floor(Date.now() / 1000) + 300 };
  const unknown = await provider.sign(claims, { keyId: 'two' });
  const why = expect.stringContaining('unknown key') as unknown;
  expect(await openOidc().verify(unknown)).toEqual({ status: 'refused', why });
  const forged = await provider.sign(claims, { isForged: true });
  expect(await openOidc().verify(forged)).toEqual({ status: 'refused', why: 'its signature is wrong' });
});

it('logs a missing claim once for each token', async () => {
  const verifier = openOidc({ rolesClaim: 'app_roles' });
  const token = await tokenOf({ name: '', claims: { sub: 'u1', groups: ['ops'] }, right: 'no role' });
  for (let n = 0; n < 3; n += 1) await verifier.verify(token);
  expect(log.entries.map(({ fields }) => [fields['claim'], fields['subject']])).toEqual([['app_roles', 'u1']]);
});

it('is unavailable, and not the fault of the token, while the provider cannot be reached', async () => {
  const away = createOidc(
    {
      ...{ issuer: new URL('http://127.0.0.1:9'), clientId: 'countersign', clientSecret: null, audience },
      ...{ rolesClaim: 'roles', groupsClaim: 'groups', tenant: 'default' },
    },
    { clock: systemClock, log },
  );
  oidc = away;
  const headers = { authorization: `Bearer ${await tokenOf({ name: '', claims: { sub: 'u1' }, right: 'refused' })}` };
  const answer = await fetch(`${world.url}/v1/approvals`, { headers });
  expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([503, 'unavailable']);
});
