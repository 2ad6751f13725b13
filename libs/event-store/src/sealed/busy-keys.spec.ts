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
import type { SubjectKeys } from './subject-keys.js';

// A process has locked the folder of its keys, but another program, such as a backup, may use `keys.db`.
let folder: string;
let one: SubjectKeys;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-keys-'));
  one = openSubjectKeys({ folder, rootKeyFile: null, log: createSilentLog() });
  one.confirm();
});

afterEach(() => {
  one.close();
  rmSync(folder, { recursive: true });
});

it('leaves no byte of a destroyed key in a file that another program has open', async () => {
  const { id } = await one.current('default', 'customer');
  const wrapped = (): boolean =>
    readdirSync(folder).some((name) => name.startsWith('keys.db') && readFileSync(join(folder, name)).includes(bytes));
  const bytes = wrappedOf(id);
  expect(wrapped()).toBe(true);
  const reader = new DatabaseSync(join(folder, 'keys.db'));
  try {
    expect(reader.prepare('SELECT id FROM keys').all()).toEqual([{ id }]);
    one.destroy(one.retire('default', 'customer'));
    expect(wrapped()).toBe(false);
  } finally {
    reader.close();
  }
});

it('destroys keys while another program empties the log of the file again and again', async () => {
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
])('says what to do when another program %s the file for longer than it waits', async (_, sql, remedy) => {
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

it('keeps a key erased or destroyed when another erasure of the same subject begins', async () => {
  const { id } = await one.current('default', 'customer');
  expect(one.retire('default', 'customer')).toEqual([id]);
  one.beginErasing([id]);
  expect(one.retire('default', 'customer')).toEqual([id]);
  expect(one.find(id)).toBe('erased');
  one.destroy([id]);
  one.beginErasing([id]);
  expect([one.erasing(), one.find(id), one.findForCopies(id)]).toEqual([[], 'erased', undefined]);
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
