import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from '@jest/globals';
import { createIdempotencyStore } from './idempotency-store.js';

it('a file of an older version is emptied', () => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-idempotency-'));
  const file = join(folder, 'idempotency.db');
  const old = new DatabaseSync(file);
  old.exec("CREATE TABLE answers (body TEXT); INSERT INTO answers VALUES ('hunter2')");
  old.close();
  createIdempotencyStore(file).close();
  expect(readFileSync(file).includes('hunter2')).toBe(false);
  rmSync(folder, { recursive: true });
});
