import { cpSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { ErasureView } from '@countersign/contracts';
import { openSubjectKeys, rotateRootKey } from '@countersign/event-store';
import { verifyReadModel } from '@countersign/read-model';
import { prepareErasing, secret } from './testing/erasing.js';

const { log, open, request, claimOf, run, erase, preview, viewOf, filesWith, folder, stores } = prepareErasing();

/** Stops, keeps a copy of the folder, and starts again. */
async function backUp(): Promise<void> {
  await stores().close();
  cpSync(folder(), `${folder()}-backup`, { recursive: true });
  await open();
}

/** Stops, puts files back, and starts again. */
async function restore(isRestored: (name: string) => boolean, env: Record<string, string> = {}): Promise<void> {
  await stores().close();
  const backup = `${folder()}-backup`;
  for (const name of readdirSync(folder()).filter(isRestored)) rmSync(join(folder(), name));
  for (const name of readdirSync(backup).filter(isRestored)) cpSync(join(backup, name), join(folder(), name));
  rmSync(backup, { recursive: true });
  await open(env);
}

it.each([
  ['keys.db', /^keys\.db/, { calls: 1, values: 1 }],
  ['keys.db and the copies of values', /^(keys|read-model|idempotency)\.db/, { calls: 1, values: 1 }],
  ['read-model.db', /^read-model\.db/, { calls: 1, values: 1 }],
  // The proof is lost with the end of the log, so the next erasure is one of these values too.
  ['everything but keys.db', /^(?!keys\.db)/, { calls: 2, values: 3 }],
])('keeps a subject erased when an older backup of %s is restored', async (_what, names, erased) => {
  await request('a');
  await run('a');
  await request('other', { labels: {} });
  const [event] = await stores().vault.store.raw.readAll(0, 1);
  await backUp();
  await erase();
  await restore((name) => names.test(name));
  expect(viewOf('a')).toMatchObject({ arguments: { password: '[erased]' }, output: { token: '[erased]' } });
  expect(viewOf('other').arguments).toEqual({ password: secret });
  expect(filesWith(secret)).toEqual([]);
  expect(stores().vault.keys.findForCopies(event?.metadata.sealed?.key ?? '')).toBeUndefined();
  const { store: source, vault, readModel } = stores();
  readModel.flush();
  const file = join(folder(), 'read-model.db');
  expect(await verifyReadModel({ file, source, log, seal: vault.texts })).toMatchObject({ same: true });
  await request('later');
  expect(await erase({ force: true })).toMatchObject({ status: 'erased', ...erased });
});

it('keeps a subject erased when an older log is accepted, and has the proof again when it is repeated', async () => {
  await request('a');
  await run('a');
  stores().readModel.flush();
  const head = await stores().store.head();
  await backUp();
  const { stream } = (await erase()) as ErasureView;
  await expect(restore((name) => name.startsWith('events.'))).rejects.toThrow('Restore the log');
  rmSync(join(folder(), 'read-model.db'));
  await open({ COUNTERSIGN_ACCEPT_LOG_END: String(head) });
  expect(viewOf('a')).toMatchObject({ arguments: { password: '[erased]' }, output: { token: '[erased]' } });
  expect(await stores().store.readStream(stream ?? '')).toEqual([]);
  expect(await preview()).toMatchObject({ status: 'possible', calls: 1, values: 2 });
  expect(await erase()).toMatchObject({ status: 'erased', stream, calls: 1, values: 2 });
  expect(await stores().store.readStream(stream ?? '')).toHaveLength(1);
  expect(await erase()).toMatchObject({ status: 'nothing-to-erase', stream });
});

describe('an older keys.db that lacks a key which the log names', () => {
  const other = { labels: { subject: 'customer-43' } };
  const isKeys = (name: string): boolean => name.startsWith('keys.db');

  async function restoreOlder(names = isKeys, env: Record<string, string> = {}): Promise<void> {
    await request('a');
    await backUp();
    await request('b', other);
    stores().readModel.flush();
    await restore(names, env);
  }
  const accept = { COUNTERSIGN_ACCEPT_LOST_KEYS: 'yes' };

  it('is refused at every start, with the file, a lost key and the remedy', async () => {
    await expect(restoreOlder()).rejects.toThrow(
      /keys\.db is older than the log, or of another log: it lacks 1 keys .*Restore the newest copy of keys\.db.*COUNTERSIGN_ACCEPT_LOST_KEYS=yes/,
    );
    await expect(open()).rejects.toThrow('it lacks 1 keys');
    await open(accept);
  });

  it('is refused after a crash too, when the end of the log was not noted', async () => {
    await request('a');
    await backUp();
    await request('b', other);
    const { keys } = stores().vault;
    keys.setCheckedTo({ position: 1, eventId: 'of another log' });
    await expect(restore(isKeys)).rejects.toThrow('it lacks 1 keys');
    await open(accept);
  });

  it('is refused together with the root key of before a rotation', async () => {
    await request('a');
    await stores().close();
    cpSync(folder(), `${folder()}-backup`, { recursive: true });
    rotateRootKey({ folder: folder(), rootKeyFile: null, log }, null);
    await open();
    await request('b', other);
    stores().readModel.flush();
    await expect(restore((name) => /^(keys\.db|root\.key)/.test(name))).rejects.toThrow(
      'the root key that belongs to it',
    );
    await open(accept);
    expect([viewOf('a').arguments, viewOf('b').arguments]).toEqual([
      { password: secret },
      { password: '[key missing]' },
    ]);
    expect(stores().readModel.run('default', 'run-1')).toHaveLength(2);
  });

  it('is accepted once, and then belongs to the log', async () => {
    await restoreOlder(isKeys, accept);
    expect(log.entries).toContainEqual({
      ...{ level: 'warn', message: 'keys are lost, and that was accepted' },
      fields: { keys: 1 },
    });
    await stores().close();
    await open();
    await request('c', other);
    await stores().close();
    await open();
    expect(viewOf('c').arguments).toEqual({ password: secret });
  });

  it('is accepted as it is when only erased keys are lacking', async () => {
    await request('a');
    await backUp();
    await request('b', other);
    await run('b');
    await erase({ subject: 'customer-43' });
    await restore(isKeys);
    expect([viewOf('a'), viewOf('b')].map(({ arguments: args }) => args)).toEqual([
      { password: secret },
      { password: '[erased]' },
    ]);
    expect(stores().vault.keys.lost()).toBe(0);
  });
});

it('looks again through a log that another one has replaced', async () => {
  await request('a');
  await stores().close();
  const keys = openSubjectKeys({ folder: folder(), rootKeyFile: null, log });
  keys.setCheckedTo({ position: 1_000_000, eventId: 'of another log' });
  keys.close();
  await open();
  expect(stores().vault.keys.checkedTo()?.position).toBe(await stores().store.head());
});

it('reads values whose loss was accepted as under a missing key, which can be neither approved nor run', async () => {
  await request('a');
  await backUp();
  await request('b', { labels: { subject: 'customer-43' } });
  stores().readModel.flush();
  await restore((name) => name.startsWith('keys.db'), { COUNTERSIGN_ACCEPT_LOST_KEYS: 'yes' });
  expect([viewOf('a'), viewOf('b')].map(({ arguments: args }) => args)).toEqual([
    { password: secret },
    { password: '[key missing]' },
  ]);
  expect([viewOf('b').missingValues, viewOf('b').erasedValues]).toEqual([['/arguments/password'], undefined]);
  expect(viewOf('a')).not.toHaveProperty('missingValues');
  expect(stores().vault.keys.lost()).toBe(1);
  expect(await claimOf('b')).toMatchObject({
    refusal: { code: 'digest-mismatch', detail: expect.stringContaining('their key is missing') as unknown },
  });
  expect(await request('b', { labels: { subject: 'customer-43' } })).toMatchObject({
    refusal: {
      code: 'tool-call-mismatch',
      detail: expect.stringContaining('values that can no longer be read') as unknown,
    },
  });
  await request('c', { labels: { subject: 'customer-43' } });
  expect(viewOf('c').arguments).toEqual({ password: secret });
});

it('loses the hashes of requests before an erasure, when they are restored with their key', async () => {
  const body = Buffer.from('a request');
  const known = stores().vault.requestsKey.hash()(body);
  await request('a');
  await run('a');
  await backUp();
  await erase();
  await restore((name) => name.startsWith('keys.db'));
  expect(stores().vault.requestsKey.hash()(body)).not.toBe(known);
});

it('says nothing, and destroys nothing, at a start after an erasure that is complete', async () => {
  await request('a');
  await run('a');
  await erase();
  const { id } = await stores().vault.keys.current('', 'answers');
  const before = log.entries.length;
  await stores().close();
  await open();
  expect(log.entries.slice(before).filter(({ level }) => level === 'warn')).toEqual([]);
  expect((await stores().vault.keys.current('', 'answers')).id).toBe(id);
});
