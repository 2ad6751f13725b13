import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, describe, expect, it } from '@jest/globals';
import { createSessionStore } from './session-store.js';

const folder = mkdtempSync(join(tmpdir(), 'countersign-session-store-'));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

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
});
