import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, describe, expect, it } from '@jest/globals';
import { createSessionStore } from './session-store.js';

const folder = mkdtempSync(join(tmpdir(), 'countersign-session-store-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('a session store', () => {
  it('keeps the sessions of a file that an older version wrote', () => {
    const file = join(folder, 'sessions.db');
    const old = new DatabaseSync(file);
    const expiresAtMs = Date.now() + 60_000;
    old.exec(`CREATE TABLE sessions (
      idHash TEXT PRIMARY KEY, tokenHash TEXT, person TEXT, openedAtMs INTEGER NOT NULL, expiresAtMs INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID; INSERT INTO sessions VALUES ('old', 'token', NULL, 1, ${String(expiresAtMs)})`);
    old.close();
    const store = createSessionStore(file);
    expect(store.find('old')).toMatchObject({ tokenHash: 'token', person: null, expiresAtMs });
    store.close();
  });

  it('refuses a file that a later version wrote, by name and with the remedy', () => {
    const file = join(folder, 'later.db');
    createSessionStore(file).close();
    const later = new DatabaseSync(file);
    const [{ user_version: version } = {}] = later.prepare('PRAGMA user_version').all();
    expect(version).toBe(1);
    later.exec('ALTER TABLE sessions ADD COLUMN more TEXT; PRAGMA user_version = 2');
    later.close();
    expect(() => createSessionStore(file)).toThrow(
      `${file} was written by a later version of Countersign (schema version 2, this one knows 1): upgrade Countersign`,
    );
  });
});
