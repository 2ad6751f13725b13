import {
  chmodSync,
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { createCollectingLog } from '@countersign/runtime/testing';
import { afterEach, beforeEach } from '@jest/globals';
import { closeBox, openBox } from './box.js';
import { openSubjectKeys } from './keys-file.js';
import { RootKeyError } from './root-key.js';
import { openRequestsKey } from './request-hash.js';
import { createSealedTexts } from './sealed-texts.js';
import type { SubjectKey, SubjectKeys } from './subject-keys.js';

let folder: string;
let opened: SubjectKeys[];
const log = createCollectingLog();
const open = (rootKeyFile: string | null = null): SubjectKeys => {
  const keys = openSubjectKeys({ folder, rootKeyFile, log });
  keys.confirm();
  opened.push(keys);
  return keys;
};
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-keys-'));
  opened = [];
});
afterEach(() => {
  for (const keys of opened) keys.close();
  rmSync(folder, { recursive: true });
});

/** Asked for in one turn of the event loop. */
const allOf = (keys: SubjectKeys, ...subjects: (readonly [string, string])[]): Promise<SubjectKey[]> =>
  Promise.all(subjects.map(async (subject) => keys.current(...subject)));
const bytesOfFolder = (): Buffer => Buffer.concat(readdirSync(folder).map((name) => readFileSync(join(folder, name))));
const material = (key: unknown): string =>
  typeof key === 'string' ? key : (key as { export: () => Buffer }).export().toString('hex');

it('makes files that only their owner can read, and says once that there is a root key', async () => {
  const keys = open();
  await keys.current('t', 's');
  for (const name of ['keys.db', 'root.key']) expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
  expect(log.entries.filter(({ message }) => message.startsWith('a root key was made'))).toHaveLength(1);
  keys.close();
  expect(open().isNew).toBe(false);
  expect(log.entries.filter(({ message }) => message.startsWith('a root key was made'))).toHaveLength(1);
});

it('gives a subject the same key again after a restart, and each its own', async () => {
  const keys = open();
  const one = await keys.current('t', 's');
  const other = await keys.current('t', 'o');
  const elsewhere = await keys.current('u', 's');
  expect(new Set([one.id, other.id, elsewhere.id]).size).toBe(3);
  expect(await keys.current('t', 's')).toMatchObject({ id: one.id });
  keys.close();
  const again = open();
  expect(material((await again.current('t', 's')).key)).toBe(material(one.key));
  expect(material(again.find(other.id))).toBe(material(other.key));
});

it('makes one key for a subject that is asked for many times at once', async () => {
  const keys = open();
  const made = await allOf(keys, ...Array.from({ length: 20 }, () => ['t', 's'] as const));
  expect(new Set(made.map(({ id }) => id)).size).toBe(1);
});

it('has the key in the file before it is given out', async () => {
  const { id } = await open().current('t', 's');
  const database = new DatabaseSync(join(folder, 'keys.db'), { readOnly: true });
  expect(database.prepare('SELECT state FROM keys WHERE id = ?').get(id)).toEqual({ state: 'current' });
  database.close();
});

it('leaves no byte of a destroyed key in any file while it is open', async () => {
  const keys = open();
  const { id } = await keys.current('t', 's');
  await allOf(keys, ...Array.from({ length: 50 }, (_, index) => ['t', `other-${String(index)}`] as const));
  const database = new DatabaseSync(join(folder, 'keys.db'), { readOnly: true });
  const wrapped = Buffer.from(
    database.prepare('SELECT wrapped FROM keys WHERE id = ?').get(id)?.['wrapped'] as Uint8Array,
  );
  database.close();
  expect(bytesOfFolder().includes(wrapped)).toBe(true);
  keys.beginErasing(keys.retire('t', 's'));
  keys.destroy([id]);
  expect(bytesOfFolder().includes(wrapped)).toBe(false);
  expect([keys.find(id), keys.findForCopies(id), keys.idsOf('t', 's')]).toEqual(['erased', undefined, []]);
});

it('reads as erased what is about to be destroyed, still opens copies, and takes it back', async () => {
  const keys = open();
  const { id } = await keys.current('t', 's');
  keys.find(id);
  keys.beginErasing([id]);
  expect([keys.find(id), typeof keys.findForCopies(id), keys.find(id)]).toEqual(['erased', 'object', 'erased']);
  expect(keys.erasing()).toEqual([id]);
  keys.keep([id]);
  expect([typeof keys.find(id), keys.erasing(), keys.idsOf('t', 's')]).toEqual(['object', [], [id]]);
});

it('never makes a root key for the keys of another one', async () => {
  await open().current('t', 's');
  opened.pop()?.close();
  const saved = join(folder, 'saved');
  copyFileSync(join(folder, 'root.key'), saved);
  rmSync(join(folder, 'root.key'));
  expect(() => open()).toThrow(/root\.key is missing, and keys\.db was made with it: restore the file/);
  expect(() => statSync(join(folder, 'root.key'))).toThrow();
  writeFileSync(join(folder, 'root.key'), Buffer.alloc(32, 7).toString('base64'));
  expect(() => open()).toThrow('is not the root key that keys.db was made with');
  copyFileSync(saved, join(folder, 'root.key'));
  expect(typeof open().idsOf('t', 's')[0]).toBe('string');
});

it.each([
  ['a missing file', 'none.key', undefined, 'COUNTERSIGN_ROOT_KEY_FILE: file not found'],
  ['a short key', 'own.key', 'c2hvcnQ=', 'is no root key: it needs 32 bytes'],
])("refuses %s as the operator's own root key", (_what, name, text, message) => {
  const file = join(folder, name);
  if (text !== undefined) writeFileSync(file, text);
  expect(() => open(file)).toThrow(RootKeyError);
  expect(() => open(file)).toThrow(message);
});

it.each([
  [0o644, 1],
  [0o640, 0],
  [0o600, 0],
])('warns of a root key of the operator with the mode %i when every user can read it', (mode, warnings) => {
  const file = join(folder, 'own.key');
  writeFileSync(file, Buffer.alloc(32, 7).toString('base64'));
  chmodSync(file, mode);
  const before = log.entries.length;
  open(file);
  const said = log.entries.slice(before).filter(({ message }) => message.includes('can read the root key'));
  expect(said).toHaveLength(warnings);
  expect(statSync(file).mode & 0o777).toBe(mode);
});

it('refuses a box with a shortened tag, another key or another place', async () => {
  const keys = open();
  const { key } = await keys.current('t', 's');
  const { key: other } = await keys.current('t', 'o');
  const box = closeBox(key, 'here', 'text');
  expect(openBox(key, 'here', box).toString()).toBe('text');
  for (const [with_, bound, bytes] of [
    [other, 'here', box],
    [key, 'there', box],
    [key, 'here', box.subarray(0, -12)],
    [key, 'here', box.subarray(0, 20)],
  ] as const) {
    expect(() => openBox(with_, bound, bytes)).toThrow();
  }
});

it('closes texts of copies under the key of the subject, and loses them with it', async () => {
  const keys = open();
  const texts = createSealedTexts(keys);
  const { id } = await keys.current('t', 's');
  const stored = texts.close(id, 'hunter2');
  expect([Buffer.from(stored).includes('hunter2'), texts.open(stored)]).toEqual([false, 'hunter2']);
  keys.beginErasing([id]);
  keys.destroy([id]);
  expect(() => texts.open(stored)).toThrow('is destroyed or missing');
});

it('hashes a request in the same way until the key of the requests is renewed', async () => {
  const keys = open();
  const requestsKey = await openRequestsKey(keys);
  const body = Buffer.from('hunter2');
  const before = requestsKey.hash()(body);
  expect((await openRequestsKey(keys)).hash()(body)).toBe(before);
  expect(requestsKey.hash()(Buffer.from('hunter3'))).not.toBe(before);
  await requestsKey.renew();
  const after = requestsKey.hash()(body);
  const [keyId, hash] = before.split(':');
  expect(after.split(':')).toEqual([expect.not.stringContaining(keyId ?? ''), expect.not.stringContaining(hash ?? '')]);
});
