import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { openDatabase } from './open-database.js';

const tables = 'CREATE TABLE IF NOT EXISTS notes (text TEXT) STRICT;';
const cost = 'The notes are lost.';
const folder = mkdtempSync(join(tmpdir(), 'countersign-database-'));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('a database of the gateway', () => {
  it('is its owner’s alone, and still there when it is opened again', () => {
    const file = join(folder, 'notes.db');
    const first = openDatabase(file, tables, cost);
    first.exec("INSERT INTO notes VALUES ('kept')");
    expect(['', '-wal', '-shm'].map((ending) => statSync(file + ending).mode & 0o777)).toEqual([0o600, 0o600, 0o600]);
    first.close();
    const again = openDatabase(file, tables, cost);
    expect(again.prepare('SELECT text FROM notes').all()).toEqual([{ text: 'kept' }]);
    again.close();
  });

  it('in memory leaves no file', () => {
    const before = existsSync(':memory:');
    openDatabase(':memory:', tables, cost).close();
    expect({ before, after: existsSync(':memory:') }).toEqual({ before: false, after: false });
  });
});
