import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EventStoreUnavailableError } from '@countersign/event-store';
import type { EventStore } from '@countersign/event-store';
import { createSimulatedEventStore, createSimulatedLog } from '@countersign/event-store/testing';
import type { SystemEventData } from '@countersign/contracts';
import { credentialOfToken } from '@countersign/commands';
import { createSystemIds, sleep, systemClock } from '@countersign/runtime';
import { createSilentLog } from '@countersign/runtime/testing';
import { digestOfText, openSystemLog } from '@countersign/shell';
import { createFileTokens } from './tokens-file.js';
import type { FileTokens } from './tokens-file.js';
import type { TokenEntry } from './tokens.js';

type Changed = SystemEventData<'ConfigurationChanged'>;

const alice: TokenEntry = { token: 'alice-token', principal: 'alice', roles: ['approver'], groups: ['ops'] };
const twin: TokenEntry = { token: 'twin-token', principal: 'alice', roles: ['approver'], groups: ['ops'] };
const idOf = ({ token = '' }: TokenEntry) => credentialOfToken(digestOfText(token).slice('sha256:'.length));

const folders: string[] = [];
const opened: FileTokens[] = [];
afterEach(() => {
  for (const one of opened.splice(0)) one.close();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

/** A data folder with a tokens file, over one log. */
function openPlace() {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-record-'));
  folders.push(folder);
  const file = join(folder, 'tokens.json');
  const simulated = createSimulatedLog();
  const store = createSimulatedEventStore({ clock: systemClock, log: simulated });
  let away = false;
  const append: EventStore['append'] = (...of) =>
    away ? Promise.reject(new EventStoreUnavailableError('the disk is full')) : store.append(...of);
  const write = (...entries: TokenEntry[]) => {
    writeFileSync(file, JSON.stringify(entries));
  };
  const start = async (): Promise<FileTokens> => {
    const log = createSilentLog();
    const ports = { store: { ...store, append }, folder, clock: systemClock, ids: createSystemIds(), log };
    const tokens = createFileTokens(file, log);
    opened.push(tokens);
    await tokens.recordIn(openSystemLog(ports), systemClock);
    return tokens;
  };
  const changes = (tenant = 'default') =>
    simulated.events
      .filter(({ type, metadata }) => type === 'ConfigurationChanged' && metadata.tenant === tenant)
      .map(({ data }) => data as Changed);
  return { write, start, changes, setAway: (is: boolean) => void (away = is) };
}

const until = async (isTrue: () => boolean): Promise<void> => {
  for (let tries = 0; !isTrue(); tries += 1) {
    if (tries > 10_000) throw new Error('it did not happen within 100 s');
    await sleep(systemClock, 10);
  }
};
const namesOf = (list: Changed['added']) => list.map(({ credential }) => credential);

describe('the record of tokens', () => {
  it('has the whole file at the first start, without a token, and nothing at a later one', async () => {
    const place = openPlace();
    place.write(alice);
    await place.start();
    const [first] = place.changes();
    expect(first).toMatchObject({ configures: 'tokens', digest: expect.stringMatching(/^sha256:/) as string });
    expect(first?.added).toMatchObject([{ credential: idOf(alice), principal: 'alice', roles: ['approver'] }]);
    expect(JSON.stringify(place.changes())).not.toContain('alice-token');
    await place.start();
    expect(place.changes()).toHaveLength(1);
  });

  it('has the twin of a person before it counts, and its end', async () => {
    const place = openPlace();
    place.write(alice);
    const tokens = await place.start();
    place.write(alice, twin);
    tokens.reload();
    expect(tokens.actorOf('twin-token', 'api')).toBeUndefined();
    await until(() => tokens.actorOf('twin-token', 'api') !== undefined);
    expect(namesOf(place.changes()[1]?.added ?? [])).toEqual([idOf(twin)]);
    place.write(alice);
    tokens.reload();
    expect(tokens.actorOf('twin-token', 'api')).toBeUndefined();
    await until(() => place.changes().length === 3);
    expect(namesOf(place.changes()[2]?.removed ?? [])).toEqual([idOf(twin)]);
  });

  it('names a twin that was added while the process was stopped', async () => {
    const place = openPlace();
    place.write(alice);
    (await place.start()).close();
    place.write(alice, twin);
    await place.start();
    expect(namesOf(place.changes()[1]?.added ?? [])).toEqual([idOf(twin)]);
  });

  it('comes first: while the log cannot be written no new right counts, and a removed one has ended', async () => {
    const place = openPlace();
    const bob: TokenEntry = { token: 'bob-token', principal: 'bob', roles: ['approver', 'auditor'] };
    place.write(alice, bob);
    const tokens = await place.start();
    place.setAway(true);
    place.write(twin, { ...bob, roles: ['auditor', 'admin'] });
    tokens.reload();
    expect(tokens.actorOf('twin-token', 'api')).toBeUndefined();
    expect(tokens.actorOf('alice-token', 'api')).toBeUndefined();
    expect([...(tokens.actorOf('bob-token', 'api')?.roles ?? [])]).toEqual(['auditor']);
    expect(place.changes()).toHaveLength(1);
    place.setAway(false);
    await until(() => tokens.actorOf('twin-token', 'api') !== undefined);
    expect([...(tokens.actorOf('bob-token', 'api')?.roles ?? [])]).toEqual(['auditor', 'admin']);
    const [, second] = place.changes();
    expect([second?.added, second?.removed, second?.changed].map((list) => namesOf(list ?? []))).toEqual([
      [idOf(twin)],
      [idOf(alice)],
      [idOf(bob)],
    ]);
  });

  it('has another owner of an agent before a request names them', async () => {
    const place = openPlace();
    const agent: TokenEntry = { token: 'agent-token', principal: 'agent', roles: ['agent'], owner: 'ann' };
    const ownerOf = () => tokens.actorOf('agent-token', 'api')?.owner;
    place.write(agent);
    const tokens = await place.start();
    place.setAway(true);
    place.write({ ...agent, owner: 'bob' });
    tokens.reload();
    expect(ownerOf()).toBe('ann');
    place.setAway(false);
    await until(() => ownerOf() === 'bob');
    expect(place.changes()[1]?.changed).toMatchObject([{ owner: 'bob' }]);
  });

  it('lets no process start with rights that cannot be recorded', async () => {
    const place = openPlace();
    place.write(alice);
    (await place.start()).close();
    place.setAway(true);
    (await place.start()).close();
    place.write(alice, twin);
    await expect(place.start()).rejects.toThrow('the disk is full');
  });

  it('tells each tenant of its own people alone', async () => {
    const place = openPlace();
    const other: TokenEntry = { token: 'other-token', principal: 'olga', roles: ['approver'], tenant: 'other' };
    place.write(alice, other);
    (await place.start()).close();
    expect(JSON.stringify(place.changes())).not.toContain('olga');
    expect(place.changes('other')).toMatchObject([{ digest: null, added: [{ principal: 'olga' }] }]);
    place.write(alice);
    await place.start();
    expect(namesOf(place.changes('other')[1]?.removed ?? [])).toEqual([idOf(other)]);
  });

  it('is cut into events of a bounded size', async () => {
    const place = openPlace();
    const many = Array.from({ length: 5000 }, (_, n): TokenEntry => ({
      ...{ token: `token-${String(n)}`, principal: `person-${String(n)}`, roles: ['approver'], groups: ['ops'] },
    }));
    place.write(...many, { ...alice, groups: Array.from({ length: 500 }, (_, n) => `group-${String(n)}`) });
    await place.start();
    const changes = place.changes();
    expect(changes.length).toBeGreaterThan(1);
    expect(changes.map(({ part }) => part?.nth)).toEqual(changes.map((_, index) => index + 1));
    for (const change of changes) expect(JSON.stringify(change).length).toBeLessThan(260_000);
    expect(changes.flatMap(({ added }) => added)).toHaveLength(5001);
    expect(changes.flatMap(({ added }) => added).find(({ principal }) => principal === 'alice')).toMatchObject({
      more: 400,
    });
    await place.start();
    expect(place.changes()).toHaveLength(changes.length);
  });
});
