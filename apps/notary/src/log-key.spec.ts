import { generateKeyPairSync } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createCollectingLog, createSilentLog } from '@countersign/runtime/testing';
import { afterAll, expect, it } from '@jest/globals';
import { loadLogSeed, loadReceiptSeed } from './log-key.js';

const folder = mkdtempSync(join(tmpdir(), 'countersign-log-key-'));
afterAll(() => rmSync(folder, { recursive: true }));
const log = createSilentLog();

it('is made once, for its owner alone, with the advice to move it away', () => {
  const told = createCollectingLog();
  const seed = loadLogSeed({ folder, logKeyFile: null, log: told });
  expect(seed).toHaveLength(32);
  expect(told.entries.map(({ message }) => message)).toEqual([expect.stringContaining('COUNTERSIGN_LOG_KEY_FILE')]);
  if (process.platform !== 'win32') expect(statSync(join(folder, 'log.key')).mode & 0o777).toBe(0o600);
  expect(loadLogSeed({ folder, logKeyFile: null, log })).toEqual(seed);
  expect(loadLogSeed({ folder, logKeyFile: join(folder, 'log.key'), log })).toEqual(seed);
});

it('is refused where the named file is missing, or holds another kind of key', () => {
  const logKeyFile = join(folder, 'moved.key');
  expect(() => loadLogSeed({ folder, logKeyFile, log })).toThrow(/COUNTERSIGN_LOG_KEY_FILE.*file not found/);
  const { privateKey } = generateKeyPairSync('x25519');
  writeFileSync(logKeyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }));
  expect(() => loadLogSeed({ folder, logKeyFile, log })).toThrow(/no Ed25519 key/);
});

it('is not made for receipts where a program signs: these have a key of another name', () => {
  const told = createCollectingLog();
  const apart = mkdtempSync(join(folder, 'apart-'));
  const seed = loadReceiptSeed({ folder: apart, log: told });
  expect(told.entries.map(({ message }) => message)).toEqual([expect.stringContaining('signs receipts alone')]);
  expect(existsSync(join(apart, 'log.key'))).toBe(false);
  if (process.platform !== 'win32') expect(statSync(join(apart, 'receipt.key')).mode & 0o777).toBe(0o600);
  expect(loadReceiptSeed({ folder: apart, log })).toEqual(seed);
});
