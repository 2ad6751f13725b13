import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { DatabaseFileError, openDatabaseFile } from './database-file.js';

const folder = mkdtempSync(join(tmpdir(), 'countersign-database-file-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const options = { cost: 'The notes in it are lost.', timeoutMs: 1000 };
const setUp = (database: { exec: (sql: string) => void }): void =>
  database.exec('CREATE TABLE notes (text TEXT) STRICT');

describe('a database file', () => {
  it('is its owner’s alone', () => {
    const file = join(folder, 'notes.db');
    openDatabaseFile(file, options, setUp).close();
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('that is damaged is named, with the remedy and what it costs, and is left as it was', () => {
    const file = join(folder, 'damaged.db');
    const garbage = Buffer.alloc(9000, 'garbage ');
    writeFileSync(file, garbage);
    const open = () => openDatabaseFile(file, options, setUp);
    expect(open).toThrow(DatabaseFileError);
    expect(open).toThrow(`${file} is damaged (file is not a database): move it away`);
    expect(open).toThrow(/start again\. The notes in it are lost\.$/);
    expect(readFileSync(file)).toEqual(garbage);
  });

  it('whose tables cannot be made for another reason is not called damaged', () => {
    expect(() => openDatabaseFile(':memory:', options, (database) => database.exec('CREATE'))).toThrow(
      /incomplete input/,
    );
  });
});
