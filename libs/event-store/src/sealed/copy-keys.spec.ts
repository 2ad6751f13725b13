import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSilentLog } from '@countersign/runtime/testing';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { openSubjectKeys } from './keys-file.js';
import type { FileKeys } from './keys-file.js';
import { rotateRootKey } from './rotate-root-key.js';

let folder: string;
let keys: FileKeys;

const place = () => ({ folder, rootKeyFile: null, log: createSilentLog() });

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-copies-'));
  keys = openSubjectKeys(place());
  keys.confirm();
});
afterEach(() => {
  keys.close();
  rmSync(folder, { recursive: true });
});

const again = (): void => {
  keys.close();
  keys = openSubjectKeys(place());
};

it('gives each process one key for its copies, the same after a start', () => {
  const { id, key } = keys.copyKey('a');
  expect(keys.copyKey('b').id).not.toBe(id);
  again();
  const same = keys.copyKey('a');
  expect([same.id, same.key.equals(key)]).toEqual([id, true]);
});

it('gives another key as soon as other values read as erased, also when that is taken back', async () => {
  const { id: subjectKey } = await keys.current('default', 'customer');
  const { id } = keys.copyKey('a');
  keys.beginErasing([subjectKey]);
  const during = keys.copyKey('a').id;
  keys.keep([subjectKey]);
  expect(new Set([id, during, keys.copyKey('a').id]).size).toBe(3);
});

it('forgets the keys of all copies when the root key is rotated', () => {
  const { id } = keys.copyKey('a');
  keys.close();
  rotateRootKey(place(), null);
  again();
  expect(keys.copyKey('a').id).not.toBe(id);
});
