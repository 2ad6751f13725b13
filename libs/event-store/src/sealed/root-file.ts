import type { DatabaseSync } from 'node:sqlite';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { crashPoint, keepPrivate } from '@countersign/runtime';
import type { Log } from '@countersign/runtime';
import { hasRootKey, isOpenToOthers, makeRootKey, overwriteRootKey, readRootKey, RootKeyError } from './root-key.js';
import type { RootKey } from './root-key.js';

/** The root key that opens a `keys.db`. */
export interface OpenedRoot {
  readonly root: RootKey;
  /** Its file. */
  readonly file: string;
  /** `keys.db` has no root key yet. */
  readonly isNew: boolean;
}

/** Where the root key of a data folder is. */
export interface RootPlace {
  readonly folder: string;
  /** The operator's own root key; null: `root.key` in the data folder, made at the first start. */
  readonly rootKeyFile: string | null;
  readonly log: Log;
}

/**
 * Opens the root key of `keys.db`, makes it at the first start, and completes a rotation that a crash cut short.
 * @throws RootKeyError when it is missing or another one.
 */
export function openRoot(database: DatabaseSync, { folder, rootKeyFile, log }: RootPlace): OpenedRoot {
  const file = rootKeyFile ?? join(folder, 'root.key');
  const known = fingerprintIn(database);
  const isNew = known === undefined;
  if (rootKeyFile === null) completeRotation(file, known);
  if (!hasRootKey(file)) {
    if (rootKeyFile !== null || !isNew) throw missingRoot(file, !isNew);
    makeFirst(file, log);
  }
  if (rootKeyFile === null) keepPrivate(file);
  else if (isOpenToOthers(file)) log.warn({ file }, 'every user of this machine can read the root key: chmod 600');
  const root = readRootKey(file);
  if (!isNew && known !== root.fingerprint) throw anotherRoot(file);
  return { root, file, isNew };
}

function makeFirst(file: string, log: Log): void {
  const advice = 'a root key was made for sensitive values; keep a copy of it apart from the backups of the data';
  if (makeRootKey(file)) log.info({ file }, advice);
}

/** The fingerprint of the root key that `keys.db` was wrapped with; undefined: with none yet. */
export function fingerprintIn(database: DatabaseSync): string | undefined {
  const known = database.prepare('SELECT fingerprint FROM root').get()?.['fingerprint'];
  return known === undefined ? undefined : String(known);
}

/** Where a rotation keeps the next root key until it takes the place of the old one. */
export function nextFile(file: string): string {
  return `${file}.next`;
}

/**
 * Puts the next root key in the place of the old one if `keys.db` is wrapped with it already, and overwrites the bytes of
 * the old one. Otherwise it stays: with a restored `keys.db`, it may be the only root key of a newer one.
 */
export function completeRotation(file: string, known: string | undefined): void {
  const next = nextFile(file);
  if (known === undefined || !existsSync(next) || fingerprintOf(next) !== known) return;
  overwriteRootKey(file, next);
  crashPoint('rotate.overwritten');
  rmSync(next);
}

/** Undefined: a crash cut the file off. */
function fingerprintOf(file: string): string | undefined {
  try {
    return readRootKey(file).fingerprint;
  } catch (error) {
    if (error instanceof RootKeyError) return undefined;
    throw error;
  }
}

function missingRoot(file: string, isKnown: boolean): RootKeyError {
  return new RootKeyError(
    isKnown
      ? `the root key ${file} is missing, and keys.db was made with it: restore the file from your copy. Without it the sensitive values of the log cannot be read`
      : `COUNTERSIGN_ROOT_KEY_FILE: file not found: ${file}. Make one with: openssl rand -base64 32 > ${file}`,
  );
}

function anotherRoot(file: string): RootKeyError {
  return new RootKeyError(
    `${file} is not the root key that keys.db was made with: restore that key from your copy. Without it the sensitive values of the log cannot be read`,
  );
}
