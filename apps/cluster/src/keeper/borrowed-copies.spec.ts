import { createSecretKey, randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { KeysUnavailableError } from '@countersign/event-store';
import type { SealedTexts, SubjectKey } from '@countersign/event-store';
import { createVirtualClock } from '@countersign/runtime/testing';
import type { VirtualClock } from '@countersign/runtime/testing';
import { createBorrowedCopies } from './borrowed-copies.js';
import type { BorrowedCopies } from './borrowed-copies.js';

let folder: string;
let clock: VirtualClock;
let isLive: boolean;
let lent: SubjectKey;
let owners: string[];
let rebuilt: number;
/** Runs while the file is built again. */
let duringRebuild: () => void;
let copies: BorrowedCopies;
let texts: SealedTexts;

const newKey = (id: string): SubjectKey => ({ id: id.padEnd(36, '-'), key: createSecretKey(randomBytes(32)) });

const openCopies = (): BorrowedCopies =>
  createBorrowedCopies({
    keys: {
      copyKey: (owner) => {
        owners.push(owner);
        if (!isLive) return Promise.reject(new KeysUnavailableError('away'));
        return Promise.resolve(lent);
      },
    },
    loan: {
      assertLive: () => {
        if (!isLive) throw new KeysUnavailableError('away');
      },
    },
    dataFolder: folder,
    clock,
    stopping: new AbortController().signal,
  });

const rows = {
  rebuild: () => {
    duringRebuild();
    rebuilt += 1;
    return Promise.resolve();
  },
};

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-copies-'));
  clock = createVirtualClock();
  [isLive, lent, owners, rebuilt, duringRebuild] = [true, newKey('one'), [], 0, () => undefined];
  copies = openCopies();
  await copies.openRows((given) => {
    texts = given;
    return Promise.resolve(rows);
  });
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

it('encrypts each row with the key of the process, not with that of the subject', () => {
  const stored = texts.close('the key of a subject', 'a value');
  expect(Buffer.from(stored).toString().startsWith(lent.id)).toBe(true);
  expect(texts.open(stored)).toBe('a value');
});

it('has one name for a data folder, also after a start', async () => {
  await openCopies().openRows(() => Promise.resolve(rows));
  expect(owners).toEqual([owners[0], owners[0]]);
  expect(readFileSync(join(folder, 'copies.id'), 'utf8')).toBe(owners[0]);
});

it('writes its file again under the next key, and opens old rows until that is done', async () => {
  const old = texts.close('', 'a value');
  lent = newKey('two');
  let opened = '';
  duringRebuild = () => (opened = texts.open(old));
  await copies.rewrite();
  expect([rebuilt, opened, texts.erasedKeys()]).toEqual([1, 'a value', lent.id]);
  expect(() => texts.open(old)).toThrow('is destroyed or missing');
});

it('leaves a file alone that is under the right key, and opens it again after a loan that had ended', async () => {
  const stored = texts.close('', 'a value');
  isLive = false;
  copies.ended();
  expect(() => texts.open(stored)).toThrow(KeysUnavailableError);
  isLive = true;
  await copies.rewrite();
  expect([rebuilt, texts.open(stored)]).toEqual([0, 'a value']);
});

it('tries again while the keeper is away', async () => {
  lent = newKey('two');
  isLive = false;
  const rewriting = copies.rewrite();
  await clock.advanceAsync(10_000);
  expect(rebuilt).toBe(0);
  isLive = true;
  await clock.advanceAsync(1000);
  await rewriting;
  expect(rebuilt).toBe(1);
});

it('waits with rewriting until the file is open, which may have been built with an older key', async () => {
  copies = openCopies();
  const built = Promise.withResolvers<typeof rows>();
  const opening = copies.openRows(() => built.promise);
  lent = newKey('two');
  const rewriting = copies.rewrite();
  await setImmediate();
  expect(rebuilt).toBe(0);
  built.resolve(rows);
  await opening;
  await rewriting;
  expect(rebuilt).toBe(1);
});
