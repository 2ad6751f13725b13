import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { systemClock } from '@countersign/runtime';
import { createSilentLog } from '@countersign/runtime/testing';
import { afterEach, beforeEach } from '@jest/globals';
import { openEmbeddedEventStore } from '../embedded/embedded-event-store.js';
import { openSubjectKeys } from './keys-file.js';
import { RootKeyError } from './root-key.js';
import { rotateRootKey } from './rotate-root-key.js';
import type { SubjectKeys } from './subject-keys.js';

let folder: string;
const log = createSilentLog();
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-rotation-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

const pathOf = (name: string): string => join(folder, name);
const place = (rootKeyFile: string | null = null) => ({ folder, rootKeyFile, log });
const withKeys = async <T>(work: (keys: SubjectKeys) => T | Promise<T>, rootKeyFile?: string): Promise<T> => {
  const keys = openSubjectKeys(place(rootKeyFile));
  try {
    keys.confirm();
    return await work(keys);
  } finally {
    keys.close();
  }
};
/** All that the keys of two subjects and an erased one say. */
const stateOf = (keys: SubjectKeys) => ({
  found: ['a', 'b', 'erased'].map((subject) => keys.idsOf('t', subject).map((id) => textOf(keys.find(id)))),
  hash: keys.hashOf('t', 'a'),
  erased: keys.erasedKeys(),
});
const textOf = (key: ReturnType<SubjectKeys['find']>): string =>
  typeof key === 'string' ? key : key.export().toString('hex');
const makeKeys = (rootKeyFile?: string) =>
  withKeys(async (keys) => {
    for (const subject of ['a', 'b', 'erased']) await keys.current('t', subject);
    keys.destroy(keys.retire('t', 'erased'));
    return stateOf(keys);
  }, rootKeyFile);
const makeRoot = (name: string): string => {
  writeFileSync(pathOf(name), Buffer.alloc(32, name).toString('base64'), { mode: 0o600 });
  return pathOf(name);
};
const wrappedKeys = (): readonly Buffer[] => {
  const database = new DatabaseSync(pathOf('keys.db'), { readOnly: true });
  const rows = database.prepare('SELECT wrapped FROM keys WHERE wrapped IS NOT NULL').all();
  database.close();
  return rows.map(({ wrapped }) => Buffer.from(wrapped as Uint8Array));
};
const filesWith = (bytes: Buffer | string): readonly string[] =>
  readdirSync(folder).filter((name) => readFileSync(pathOf(name)).includes(bytes));

it('wraps every key with a new root key, and leaves no byte of the old one or of what it wrapped', async () => {
  const before = await makeKeys();
  const old = readFileSync(pathOf('root.key'), 'utf8').trim();
  const wrapped = wrappedKeys();
  const inode = statSync(pathOf('root.key')).ino;
  expect(rotateRootKey(place(), null)).toEqual({ status: 'rotated', file: pathOf('root.key'), keys: 2 });
  expect(wrapped).toHaveLength(2);
  expect([old, ...wrapped].flatMap(filesWith)).toEqual([]);
  // The same file: the bytes of the old root key are overwritten, not left in free blocks.
  expect([existsSync(pathOf('root.key.next')), statSync(pathOf('root.key')).ino]).toEqual([false, inode]);
  expect(statSync(pathOf('root.key')).mode & 0o777).toBe(0o600);
  expect(await withKeys(stateOf)).toEqual(before);
  writeFileSync(pathOf('root.key'), old);
  await expect(withKeys(stateOf)).rejects.toThrow('is not the root key that keys.db was made with');
});

it('can be repeated, and new keys of a subject still have its name', async () => {
  const { hash } = await makeKeys();
  rotateRootKey(place(), null);
  const made = await withKeys(async (keys) => ({ ...(await keys.current('t', 'new')), hash: keys.hashOf('t', 'a') }));
  expect(rotateRootKey(place(), null)).toMatchObject({ keys: 3 });
  const after = await withKeys((keys) => [textOf(keys.find(made.id)), keys.hashOf('t', 'a')]);
  expect(after).toEqual([textOf(made.key), hash]);
  expect(made.hash).toBe(hash);
});

it("wraps with the operator's own new root key, and touches neither file", async () => {
  const [first, second] = [makeRoot('first'), makeRoot('second')];
  const texts = [first, second].map((file) => readFileSync(file, 'utf8'));
  const before = await makeKeys(first);
  expect(rotateRootKey(place(first), second)).toEqual({ status: 'rotated', file: second, keys: 2 });
  expect(rotateRootKey(place(first), second)).toEqual({ status: 'unchanged', file: second, keys: 0 });
  expect([first, second].map((file) => readFileSync(file, 'utf8'))).toEqual(texts);
  rmSync(first);
  expect(await withKeys(stateOf, second)).toEqual(before);
});

it('moves the root key out of the data folder', async () => {
  const before = await makeKeys();
  const own = makeRoot('own');
  expect(rotateRootKey(place(), own)).toMatchObject({ status: 'rotated', keys: 2 });
  await expect(withKeys(stateOf)).rejects.toThrow('is not the root key');
  expect(await withKeys(stateOf, own)).toEqual(before);
});

it("never replaces the operator's own root key", async () => {
  const own = makeRoot('own');
  await makeKeys(own);
  expect(() => rotateRootKey(place(own), null)).toThrow('is a root key of your own, which is never replaced');
});

it('refuses a folder that a process uses, keys without a root key, and a new root key that is none', async () => {
  const clock = systemClock;
  const store = await openEmbeddedEventStore({ folder, log, clock });
  expect(() => rotateRootKey(place(), null)).toThrow(/in use by process/);
  await store.close();
  expect(() => rotateRootKey(place(), null)).toThrow('start the server once');
  await makeKeys();
  writeFileSync(pathOf('short'), 'c2hvcnQ=');
  expect(() => rotateRootKey(place(), pathOf('short'))).toThrow(RootKeyError);
  expect(() => rotateRootKey(place(), pathOf('none'))).toThrow(RootKeyError);
});

it('goes on with the root key that fits, and replaces a next one that was cut off', async () => {
  const before = await makeKeys();
  for (const next of ['cut', Buffer.alloc(32, 7).toString('base64')]) {
    writeFileSync(pathOf('root.key.next'), next);
    expect(await withKeys(stateOf)).toEqual(before);
    expect(existsSync(pathOf('root.key.next'))).toBe(true);
    expect(rotateRootKey(place(), null)).toMatchObject({ status: 'rotated' });
    expect(existsSync(pathOf('root.key.next'))).toBe(false);
  }
  expect(await withKeys(stateOf)).toEqual(before);
});

it('opens the folder with the next root key when a crash came before the replacement', async () => {
  const before = await makeKeys();
  const old = readFileSync(pathOf('root.key'));
  rotateRootKey(place(), null);
  const current = readFileSync(pathOf('root.key'));
  for (const left of [old, Buffer.concat([current.subarray(0, 20), old.subarray(20)]), undefined]) {
    writeFileSync(pathOf('root.key.next'), current);
    if (left === undefined) rmSync(pathOf('root.key'));
    else writeFileSync(pathOf('root.key'), left);
    expect(await withKeys(stateOf)).toEqual(before);
    expect([readFileSync(pathOf('root.key')), existsSync(pathOf('root.key.next'))]).toEqual([current, false]);
  }
});
