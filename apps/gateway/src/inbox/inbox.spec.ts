import { hash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { createSystemIds, systemClock } from '@countersign/runtime';
import type { Clock } from '@countersign/runtime';
import { createVirtualClock } from '@countersign/runtime/testing';
import { createSessionStore } from '../sqlite/session-store.js';
import { openWorld, tokenEntries } from '../testing/world.js';
import type { World } from '../testing/world.js';
import { createTokens } from '../tokens.js';
import type { Tokens } from '../tokens.js';
import type { Person } from './session-store.js';
import { createSessions } from './sessions.js';

const folder = mkdtempSync(join(tmpdir(), 'countersign-sessions-'));
const closing: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
  rmSync(folder, { recursive: true, force: true });
});

async function openInboxWorld(): Promise<World> {
  const world = await openWorld({
    change: (ports) => {
      const store = createSessionStore(':memory:');
      return { ...ports, sessions: createSessions({ ...ports, store }) };
    },
  });
  closing.push(world.close);
  return world;
}

const signIn = (url: string, headers: Record<string, string> = {}, body: unknown = { token: 'ann-token' }) =>
  fetch(`${url}/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });

const cookieOf = (response: Response): string => (response.headers.get('set-cookie') ?? '').split(';')[0] ?? '';

describe('a session', () => {
  it('is opened by a token, and its cookie is sent by no other site and read by no script', async () => {
    const { url } = await openInboxWorld();
    const plain = await signIn(url);
    expect(plain.status).toBe(201);
    expect(plain.headers.get('set-cookie')).toMatch(
      /^countersign_session=[\w-]{43}; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/,
    );
    const refused = await signIn(url, { origin: 'https://evil.example' });
    expect([refused.status, refused.headers.get('set-cookie')]).toEqual([403, null]);
    expect((await signIn(url, {}, { token: 'nobody-knows-it' })).status).toBe(401);
    expect((await signIn(url, {}, { token: 'ann-token', more: 1 })).status).toBe(400);
  });

  it('is marked for https alone where the page came over https', async () => {
    const { url } = await openInboxWorld();
    const host = new URL(url).host;
    const secure = await signIn(url, { origin: `https://${host}` });
    expect(secure.headers.get('set-cookie')).toMatch(/^__Host-countersign_session=.*; Path=\/;.*; Secure$/);
    const session = await fetch(`${url}/v1/approvals`, { headers: { cookie: cookieOf(secure) } });
    expect(session.status).toBe(200);
  });

  it('says who it is, answers as that person through the inbox, and ends', async () => {
    const { url } = await openInboxWorld();
    const cookie = cookieOf(await signIn(url));
    const session = await fetch(`${url}/session`, { headers: { cookie } });
    expect(await session.json()).toMatchObject({ actor: { principal: 'ann', groups: ['ops'] }, isOidcOffered: false });
    for (const method of ['GET', 'HEAD']) {
      expect((await fetch(`${url}/v1/approvals`, { method, headers: { cookie } })).status).toBe(200);
    }
    const forged = await fetch(`${url}/session`, { method: 'DELETE', headers: { cookie } });
    expect(forged.status).toBe(403);
    const headers = { cookie, 'countersign-client': 'inbox' };
    expect((await fetch(`${url}/session`, { method: 'DELETE', headers })).status).toBe(204);
    expect((await fetch(`${url}/v1/approvals`, { headers: { cookie } })).status).toBe(401);
  });

  it('answers no page that shows another person', async () => {
    const { url } = await openInboxWorld();
    const cookie = cookieOf(await signIn(url));
    const asPageOf = (tenant: string, principal: string) =>
      fetch(`${url}/v1/approvals`, {
        headers: { cookie, 'countersign-account': encodeURIComponent(JSON.stringify([tenant, principal])) },
      });
    expect((await asPageOf('default', 'ann')).status).toBe(200);
    const refused = [await asPageOf('default', 'bob'), await asPageOf('other', 'ann')];
    expect(refused.map(({ status }) => status)).toEqual([401, 401]);
    expect(await refused[0]?.json()).toMatchObject({ code: 'unauthenticated' });
  });

  it('does not outlive its twelve hours, and is not known by its id in the store', () => {
    const clock = createVirtualClock(Date.parse('2026-11-22T10:00:00Z'));
    const store = createSessionStore(':memory:');
    closing.push(store.close);
    const ids = { uuid: () => '', randomBytes: (count: number) => new Uint8Array(count).fill(7) };
    const sessions = createSessions({ store, tokens: createTokens(tokenEntries), clock, ids });
    const opened = sessions.openWithToken('ann-token');
    expect(store.find(opened?.id ?? '')).toBeUndefined();
    expect(sessions.actorOf(opened?.id ?? '')).toMatchObject({
      ...{ principal: 'ann', via: 'inbox', expiresAt: '2026-11-22T22:00:00.000Z' },
      credential: `token:${hash('sha256', 'ann-token').slice(0, 16)}`,
    });
    clock.advance(12 * 3_600_000 - 1);
    expect(sessions.actorOf(opened?.id ?? '')).toBeDefined();
    clock.advance(1);
    expect(sessions.actorOf(opened?.id ?? '')).toBeUndefined();
  });

  it('is ended by new sessions of the same principal alone, the oldest first', () => {
    const store = createSessionStore(':memory:');
    closing.push(store.close);
    const tokens = createTokens(tokenEntries);
    const clock = createVirtualClock(Date.now());
    const sessions = createSessions({ store, tokens, clock, ids: createSystemIds() });
    const idOf = (token: string): string => {
      clock.advance(1);
      return sessions.openWithToken(token)?.id ?? '';
    };
    const others = [idOf('ann-token'), idOf('bob-token'), idOf('other-token')];
    const ofAgent = Array.from({ length: 10_000 }, () => idOf('agent-token'));
    const living = (ids: readonly string[]) => ids.filter((id) => sessions.actorOf(id) !== undefined);
    expect(living(others)).toEqual(others);
    expect(living(ofAgent)).toEqual(ofAgent.slice(-64));
  });

  it('is not the one that the browser brought, and ends that one', async () => {
    const { url } = await openInboxWorld();
    const [planted, old] = ['countersign_session=planted', cookieOf(await signIn(url))];
    const fresh = cookieOf(await signIn(url, { cookie: old }));
    const statusOf = async (cookie: string) => (await fetch(`${url}/v1/approvals`, { headers: { cookie } })).status;
    expect(await Promise.all([planted, old, fresh].map(statusOf))).toEqual([401, 401, 200]);
    expect(cookieOf(await signIn(url, { cookie: planted }))).not.toBe(planted);
  });

  it('dies with its token, and keeps of a person only the roles that we know', () => {
    const store = createSessionStore(':memory:');
    closing.push(store.close);
    const ports = {
      store,
      clock: systemClock,
      ids: { uuid: () => '', randomBytes: (n: number) => new Uint8Array(n).fill(n) },
    };
    const before = createSessions({ ...ports, tokens: createTokens(tokenEntries) });
    const opened = before.openWithToken('ann-token');
    const after = createSessions({ ...ports, tokens: createTokens([]) });
    expect(after.actorOf(opened?.id ?? '')).toBeUndefined();
    const person: Person = { tenant: 'default', principal: 'iss#sub', roles: ['approver', 'root'], groups: [] };
    expect([...(after.actorOf(after.openFor(person).id)?.roles ?? [])]).toEqual(['approver']);
  });
});

describe('a stream of events', () => {
  /** Heartbeats in no time, and tokens that can be revoked; each look-up makes new objects, as after the file was read again. */
  async function openRevocable() {
    const system = systemClock;
    const clock: Clock = { ...system, setTimer: (ms, fn) => system.setTimer(ms === 15_000 ? 20 : ms, fn) };
    const held = { entries: tokenEntries };
    const tokens: Tokens = {
      actorOf: (token, via) => createTokens(held.entries).actorOf(token, via),
      isInForce: () => false,
      actorOfHash: (tokenHash) => createTokens(held.entries).actorOfHash(tokenHash),
      grants: (who, role) => createTokens(held.entries).grants(who, role),
      groupsOf: () => [],
      holds: (who, credential) => createTokens(held.entries).holds(who, credential),
      approverIds: (tenant) => createTokens(held.entries).approverIds(tenant),
      approverGroups: (tenant) => createTokens(held.entries).approverGroups(tenant),
      frontEnds: (tenant) => createTokens(held.entries).frontEnds(tenant),
    };
    const world = await openWorld({
      clock,
      change: (ports) => {
        const sessions = createSessions({ ...ports, tokens, store: createSessionStore(':memory:') });
        return { ...ports, tokens, sessions };
      },
    });
    closing.push(world.close);
    const cookie = cookieOf(await signIn(world.url));
    return { url: world.url, cookie, held };
  }

  /** Opens a stream of events. Its text is undefined when the server has not ended it in time, counted from its beginning. */
  async function openStream(url: string, headers: Record<string, string>, withinMs = 100_000) {
    const leaving = new AbortController();
    const response = await fetch(`${url}/v1/events?after=now`, { headers, signal: leaving.signal });
    const timer = setTimeout(() => {
      leaving.abort();
    }, withinMs);
    const text = response.text().catch(() => undefined);
    return { untilEnded: () => text.finally(() => clearTimeout(timer)) };
  }

  it.each([
    ['a session', (cookie: string): Record<string, string> => ({ cookie })],
    ['a token', (): Record<string, string> => ({ authorization: 'Bearer ann-token' })],
  ])('of %s goes on while that does, and ends when the token is revoked or loses a role', async (_, headersOf) => {
    const { url, cookie, held } = await openRevocable();
    const headers = headersOf(cookie);
    expect(await (await openStream(url, headers, 300)).untilEnded()).toBeUndefined();
    const revoked = await openStream(url, headers);
    held.entries = tokenEntries.map((entry) =>
      entry.principal === 'ann' ? { ...entry, roles: ['agent' as const] } : entry,
    );
    expect(await revoked.untilEnded()).toContain(': heartbeat');
    const gone = await openStream(url, headers);
    held.entries = [];
    expect(await gone.untilEnded()).toContain(': heartbeat');
  });

  it('of a session ends with it', async () => {
    const { url, cookie } = await openRevocable();
    const stream = await openStream(url, { cookie });
    await fetch(`${url}/session`, { method: 'DELETE', headers: { cookie, 'countersign-client': 'inbox' } });
    expect(await stream.untilEnded()).toContain(': heartbeat');
  });
});

describe('the pages of the inbox', () => {
  it('say how to build it where it was not built, and leave the API alone', async () => {
    const world = await openWorld({ change: (ports) => ports, inbox: { folder: join(folder, 'nothing') } });
    closing.push(world.close);
    const page = await fetch(`${world.url}/approvals/apr_x_1`);
    expect([page.status, page.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8']);
    expect(await page.text()).toContain('npm run build');
    expect((await fetch(`${world.url}/healthz`)).status).toBe(200);
  });
});
