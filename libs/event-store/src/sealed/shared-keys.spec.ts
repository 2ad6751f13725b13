import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { createSilentLog } from '@countersign/runtime/testing';
import { KeysUnavailableError } from '../event-store.js';
import { openSubjectKeys } from './keys-file.js';
import { rotateRootKey } from './rotate-root-key.js';
import { openAnswersKey } from './sealed-answers.js';
import type { SubjectKeys } from './subject-keys.js';

// The processes of a cluster on one machine share `keys.db`: each of these is one process.
let folder: string;
let one: SubjectKeys;
let other: SubjectKeys;

const place = () => ({ folder, rootKeyFile: null, log: createSilentLog() });
const openKeys = (): SubjectKeys => {
  const keys = openSubjectKeys(place());
  keys.confirm();
  return keys;
};

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-keys-'));
  one = openKeys();
  other = openKeys();
});

afterEach(() => {
  one.close();
  other.close();
  rmSync(folder, { recursive: true });
});

it('has one key for a subject that two processes need at the same moment', async () => {
  const subjects = Array.from({ length: 50 }, (_, n) => `subject-${String(n)}`);
  const both = subjects.flatMap((subject) => [one, other].map(async (keys) => keys.current('default', subject)));
  const made = await Promise.all(both);
  expect(new Set(made.map(({ id }) => id)).size).toBe(50);
  expect([one.keysMade(), other.keysMade()]).toEqual([50, 50]);
  for (const { id, key } of made) expect((one.find(id) as typeof key).equals(key)).toBe(true);
});

it('seals new values under another key once another process has retired the first one', async () => {
  const first = await one.current('default', 'customer');
  expect((await other.current('default', 'customer')).id).toBe(first.id);
  expect(other.retire('default', 'customer')).toEqual([first.id]);
  expect((await one.current('default', 'customer')).id).not.toBe(first.id);
  expect(one.find(first.id)).not.toBe('erased');
});

it('reads a value as erased as soon as another process erases it, and its copies until the key is destroyed', async () => {
  const { id, key } = await one.current('default', 'customer');
  other.retire('default', 'customer');
  other.beginErasing([id]);
  expect(one.find(id)).toBe('erased');
  expect(one.findForCopies(id)?.equals(key)).toBe(true);
  const before = one.erasedKeys();
  other.destroy([id]);
  expect([one.find(id), one.findForCopies(id), one.erasedKeys()]).toEqual(['erased', undefined, before]);
});

it('neither makes nor opens a key after the root key was rotated while the process ran, and says the remedy', async () => {
  const { id } = await one.current('default', 'customer');
  other.close();
  expect(rotateRootKey(place(), null)).toMatchObject({ status: 'rotated', keys: 1 });
  await expect(one.current('default', 'another')).rejects.toThrow('rotated while this process ran: start it again');
  other = openKeys();
  expect(typeof (await other.current('default', 'customer')).id).toBe('string');
  const newer = await other.current('default', 'newer');
  for (const known of [id, newer.id]) {
    expect(() => one.find(known)).toThrow('the root key was rotated while this process ran: start it again');
  }
});

it('leaves no byte of a destroyed key in a file that both processes have open', async () => {
  const { id } = await one.current('default', 'customer');
  const wrapped = (): boolean =>
    readdirSync(folder).some((name) => name.startsWith('keys.db') && readFileSync(join(folder, name)).includes(bytes));
  const bytes = wrappedOf(id);
  expect(wrapped()).toBe(true);
  other.retire('default', 'customer');
  other.destroy([id]);
  expect(wrapped()).toBe(false);
});

it('destroys keys while another process empties the log of the file again and again', async () => {
  const emptying = new Worker(
    `const { DatabaseSync } = require('node:sqlite');
    const { parentPort, workerData } = require('node:worker_threads');
    const database = new DatabaseSync(workerData, { timeout: 2000 });
    const empty = database.prepare('PRAGMA wal_checkpoint(TRUNCATE)');
    let isStopping = false;
    parentPort.on('message', () => (isStopping = true));
    const step = () => {
      if (isStopping) return parentPort.close();
      for (let n = 0; n < 100; n++) empty.get();
      setTimeout(step, 1);
    };
    parentPort.postMessage('open');
    step();`,
    { eval: true, workerData: join(folder, 'keys.db') },
  );
  await once(emptying, 'message');
  try {
    for (let n = 0; n < 30; n++) {
      const { id } = await one.current('default', `customer-${String(n)}`);
      one.destroy([id]);
      expect(one.find(id)).toBe('erased');
    }
  } finally {
    emptying.postMessage('stop');
    await once(emptying, 'exit');
  }
});

it.each([
  [
    'reads',
    'BEGIN; SELECT * FROM keys',
    'keys.db is in use by another process, so its log still has the bytes of a destroyed key: erase once more',
  ],
  ['writes', 'BEGIN IMMEDIATE', 'keys.db is in use by another process: repeating the request is safe'],
])('says what to do when another process %s the file for longer than it waits', async (_, sql, remedy) => {
  const { id } = await one.current('default', 'customer');
  const slow = new DatabaseSync(join(folder, 'keys.db'));
  slow.exec(sql);
  try {
    expect(() => {
      one.destroy([id]);
    }).toThrow(expect.objectContaining({ name: KeysUnavailableError.name, message: remedy }));
  } finally {
    slow.close();
  }
  one.destroy([id]);
  expect(one.find(id)).toBe('erased');
});

it('keeps a key erased or destroyed when another process begins an erasure of the same subject', async () => {
  const { id } = await one.current('default', 'customer');
  expect(other.retire('default', 'customer')).toEqual([id]);
  one.beginErasing([id]);
  expect(other.retire('default', 'customer')).toEqual([id]);
  expect(one.find(id)).toBe('erased');
  one.destroy([id]);
  other.beginErasing([id]);
  expect([other.erasing(), other.find(id), other.findForCopies(id)]).toEqual([[], 'erased', undefined]);
});

it('has one key of the kept responses after each process has replaced it', async () => {
  const [first, second] = [await openAnswersKey(one), await openAnswersKey(other)];
  const kept = second.answers().close('{"password":"x"}');
  await first.renew();
  // Without a restart, and before the second one replaces it as well.
  expect(second.answers().open(kept)).toBeUndefined();
  await second.renew();
  const body = Buffer.from('{}');
  expect(first.answers().hash(body)).toBe(second.answers().hash(body));
  expect(first.answers().open(second.answers().close('{}'))).toBe('{}');
});

function wrappedOf(id: string): Buffer {
  const file = readdirSync(folder)
    .filter((name) => name.startsWith('keys.db'))
    .map((name) => readFileSync(join(folder, name)))
    .find((content) => content.includes(id));
  if (file === undefined) throw new Error('the key is in no file');
  // A row begins with the id and the hash of its subject, 64 hex digits; then the wrapped key.
  const start = file.indexOf(id) + id.length + 64;
  return file.subarray(start, start + 40);
}
