import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createCliRun } from '@countersign/cli/testing';
import type { CliRun } from '@countersign/cli/testing';
import { mayDelete } from '@countersign/event-store/eventstoredb';
import { sampleEvent, sampleStream } from '@countersign/event-store/testing';
import { systemClock } from '@countersign/runtime';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { TestServer } from '../../eventstoredb-server/server.ts';
import { createAuthority } from '../../kafka-broker/certificates.ts';
import { cleanUpAfterEach, openReadyStore, startServer } from '../eventstoredb/harness.js';

cleanUpAfterEach();

const adminPassword = 'admin-secret-4711';
const password = 'service-secret@0815';

interface Report {
  readonly isAsItMustBe: boolean;
  readonly tried: readonly { readonly what: string; readonly wanted: string; readonly found: string }[];
}

describe('countersign store', () => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-store-'));
  afterAll(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  const authority = createAuthority(folder);
  const tls = { ...authority.certify('eventstoredb-node'), caFile: authority.caFile };

  let server: TestServer;
  let run: CliRun;
  let url: string;
  const as = (name: string, secret: string): string =>
    server.url.replace('esdb://', `esdb://${name}:${encodeURIComponent(secret)}@`);
  const environment = (): Record<string, string> => ({
    COUNTERSIGN_EVENTSTORE_URL: url,
    COUNTERSIGN_EVENTSTORE_ADMIN_URL: as('admin', adminPassword),
  });
  beforeEach(async () => {
    server = await startServer({ adminPassword, tls });
    url = as('countersign', password);
    run = createCliRun(environment());
  });
  const say = (stream: string, type: string, data: object): void => {
    const event = { id: randomUUID(), type, contentType: 'application/json', metadata: new Uint8Array() };
    const proposed = [{ ...event, data: Buffer.from(JSON.stringify(data)) }];
    server.log.append(stream, 'any', proposed, { createdMs: Date.now(), recognisesRepeats: true });
  };
  const saidLast = (stream: string): unknown => {
    const [last] = server.log.readStream(stream, Number.MAX_SAFE_INTEGER, 'backwards', 1);
    return last === undefined ? undefined : JSON.parse(Buffer.from(last.data).toString());
  };
  /** Makes the user with the rights that the server gives by default. */
  const withDefaultRights = (): void => void server.log.rewind(0);

  it('lets a process see whether its user may still delete', async () => {
    const clock = systemClock;
    await run('store', 'secure');
    expect(await mayDelete(url, clock)).toBe(false);
    withDefaultRights();
    expect(await mayDelete(url, clock)).toBe(true);
  });

  it('grants the rights, and proves them in a table', async () => {
    const { code, out, err } = await run('store', 'secure');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(/tried +wanted +found\n/);
    expect(out).toMatch(/read \$all +allowed +allowed\n/);
    expect(out).toMatch(/delete a stream +refused +refused\n/);
    expect(out).toContain('The user countersign has the rights that the service needs, and no others.');
  });

  it('lets the adapter append and read as the user', async () => {
    await run('store', 'secure');
    const { store } = await openReadyStore(url);
    await expect(store.append(sampleStream(), -1, [sampleEvent()])).resolves.toMatchObject({ status: 'committed' });
    await expect(store.head()).resolves.toBeGreaterThan(0);
  });

  it('ends with 1 and names each right that is missing or goes too far', async () => {
    await run('store', 'secure');
    withDefaultRights();
    const { code, out } = await run('store', 'check', '--json');
    expect(code).toBe(1);
    const { isAsItMustBe, tried } = JSON.parse(out) as Report;
    expect(isAsItMustBe).toBe(false);
    expect(tried.filter(({ wanted, found }) => wanted !== found)).toEqual([
      { what: 'read $all', wanted: 'allowed', found: 'refused' },
      { what: 'delete a stream', wanted: 'refused', found: 'allowed' },
      { what: 'tombstone a stream', wanted: 'refused', found: 'allowed' },
      { what: 'truncate a stream or change its metadata', wanted: 'refused', found: 'allowed' },
    ]);
    expect((await run('store', 'check')).out).toContain('Correct them: countersign store secure');
  });

  it('leaves no event behind when it checks', async () => {
    await run('store', 'secure');
    withDefaultRights();
    await run('store', 'check');
    expect(server.log.readAll(0, 'forwards', 10)).toEqual([]);
  });

  it('writes nothing the second time, and replaces a password', async () => {
    await run('store', 'secure');
    const before = server.log.readAll(0, 'forwards', 10).length;
    url = as('countersign', 'another-secret');
    const { code } = await createCliRun(environment())('store', 'secure');
    expect(code).toBe(0);
    expect(server.log.readAll(0, 'forwards', 10)).toHaveLength(before);
  });

  it('keeps what an operator has set and granted, and takes what everybody may do', async () => {
    say('$$$all', '$metadata', { $maxAge: 7, $acl: { $r: ['$all', 'auditor'], $mw: 'keeper' } });
    say('$settings', 'update-default-acl', { $userStreamAcl: { $r: ['reader', '$all'], $w: '$all' } });
    expect((await run('store', 'secure')).code).toBe(0);
    expect(saidLast('$$$all')).toEqual({
      $maxAge: 7,
      $acl: { $r: ['auditor', '$admins', 'countersign'], $mw: 'keeper' },
    });
    expect(saidLast('$settings')).toMatchObject({
      $userStreamAcl: { $r: ['reader', '$admins', 'countersign'], $w: ['$admins', 'countersign'], $d: '$admins' },
    });
  });

  it('waits until the server has taken over the rights', async () => {
    server = await startServer({ adminPassword, tls, rightsTakeMs: 700 });
    url = as('countersign', password);
    expect((await createCliRun(environment())('store', 'secure')).code).toBe(0);
  });

  it('keeps the rights of a second user', async () => {
    await run('store', 'secure');
    const first = run;
    url = as('reporting', password);
    expect((await createCliRun(environment())('store', 'secure')).code).toBe(0);
    expect((await first('store', 'check')).code).toBe(0);
  });

  it('ends with 1 when the password is wrong', async () => {
    await run('store', 'secure');
    url = as('countersign', 'wrong');
    const { code, out } = await createCliRun(environment())('store', 'check');
    expect(code).toBe(1);
    expect(out).toContain('not authenticated');
  });

  it('says of a server that is away just why, and names the one variable to look at', async () => {
    server.stop();
    const { code, err } = await run('store', 'check');
    expect(code).toBe(2);
    expect(err).toMatch(/could not be\s+checked:\s+esdb:\/\/\S+\s+does\s+not\s+answer:\s+connect\s+ECONNREFUSED/);
    expect(err).not.toMatch(/Resolution|Last error|ADMIN_URL/);
  });

  it.each([
    'http://countersign:hidden@host:2113',
    'host:2113',
    'esdb://countersign:hidden@host:2113?nodePreference=leader&what=1',
  ])('refuses %s by the name of its variable, and repeats no password', async (text) => {
    const { code, err } = await createCliRun({ COUNTERSIGN_EVENTSTORE_URL: text })('store', 'check');
    expect(code).toBe(2);
    expect(err).toContain('COUNTERSIGN_EVENTSTORE_URL');
    expect(err).not.toContain('hidden');
    expect(err).not.toContain('does not answer');
  });

  it.each([
    ['the server is away', () => server.stop(), 'COUNTERSIGN_EVENTSTORE_URL'],
    [
      'the admin is none',
      () => (run = createCliRun({ ...environment(), ...{ COUNTERSIGN_EVENTSTORE_ADMIN_URL: as('admin', 'guess') } })),
      'the name or password is wrong',
    ],
    [
      'no admin is named',
      () => (run = createCliRun({ COUNTERSIGN_EVENTSTORE_URL: url })),
      'COUNTERSIGN_EVENTSTORE_ADMIN_URL is not set',
    ],
    [
      'the service has no user',
      () => {
        url = server.url;
        run = createCliRun(environment());
      },
      'names no user with a password',
    ],
    [
      'the admin is the service',
      () => (run = createCliRun({ ...environment(), COUNTERSIGN_EVENTSTORE_URL: as('admin', adminPassword) })),
      'give the service its own user',
    ],
  ])('ends with 2 when %s', async (_, arrange, words) => {
    arrange();
    const { code, out, err } = await run('store', 'secure');
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err.replaceAll('\n', ' ')).toContain(words);
  });

  it('never prints a password', async () => {
    const written: string[] = [];
    const collect = async (...args: string[]): Promise<void> => {
      const { out, err } = await run(...args);
      written.push(out, err);
    };
    await collect('store', 'secure');
    withDefaultRights();
    await collect('store', 'check', '--json');
    run = createCliRun({ ...environment(), COUNTERSIGN_EVENTSTORE_ADMIN_URL: as('admin', 'guess-0000') });
    await collect('store', 'secure', '--json');
    run = createCliRun({ COUNTERSIGN_EVENTSTORE_URL: `esdb://countersign:${password}@host:x:y` });
    await collect('store', 'check');
    server.stop();
    run = createCliRun(environment());
    await collect('store', 'secure');
    await collect('store', 'check', '--json');
    expect(written.join('\n')).not.toMatch(/secret|guess|0815|4711/);
  });

  it('names the missing right to $all and the command that grants it, in errors and in readiness', async () => {
    await run('store', 'secure');
    withDefaultRights();
    const { store } = await openReadyStore(url);
    const words = /\$all.* Grant it with: countersign store secure/;
    await expect(store.head()).rejects.toThrow(words);
    expect(store.health()).toMatchObject({ status: 'unavailable', why: expect.stringMatching(words) });
  });

  it('sends no password without TLS, and says so', async () => {
    const plain = await startServer({ adminPassword });
    const plainUrl = (user: string): string => plain.url.replace('esdb://', `esdb://${user}@`);
    run = createCliRun({
      COUNTERSIGN_EVENTSTORE_URL: plainUrl('countersign:x'),
      COUNTERSIGN_EVENTSTORE_ADMIN_URL: plainUrl(`admin:${adminPassword}`),
    });
    const { code, err } = await run('store', 'secure');
    expect(code).toBe(2);
    expect(err.replaceAll('\n', ' ')).toContain('without TLS the client sends no user');
    expect(plain.calls.filter((call) => call.startsWith('Users/'))).toEqual([]);
    expect(JSON.parse((await run('store', 'check', '--json')).out)).toMatchObject({ user: null, isAsItMustBe: false });
  });

  it('explains itself', async () => {
    const { code, out } = await run('store', 'secure', '--help');
    expect(code).toBe(0);
    expect(out).toContain('COUNTERSIGN_EVENTSTORE_ADMIN_URL');
  });
});
