import { createHmac, createSecretKey, hkdfSync, randomBytes } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import {
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  ftruncateSync,
  linkSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { readTextFile } from '@countersign/runtime';

/** The root key cannot be used. The message names the file, the cause and the remedy. */
export class RootKeyError extends Error {
  override readonly name = 'RootKeyError';
}

/** The keys that are derived from the root key; the root key itself encrypts nothing. */
export interface RootKey {
  /** Wraps the keys of subjects. */
  readonly wrapping: KeyObject;
  /** Hashes the names of subjects, until the first rotation and after it. */
  readonly hashing: KeyObject;
  /** Recognises the key, and tells nothing about it. */
  readonly fingerprint: string;
}

const keyBytes = 32;

/** The root key in a file: 32 bytes as base64 or hex. @throws RootKeyError when it is something else. */
export function readRootKey(file: string): RootKey {
  const text = readTextFile(file, (problem) => new RootKeyError(`the root key: ${problem}`), 'restore it').trim();
  const bytes = Buffer.from(text, /^[0-9a-fA-F]{64}$/.test(text) ? 'hex' : 'base64');
  if (bytes.length !== keyBytes) {
    throw new RootKeyError(
      `${file} is no root key: it needs ${String(keyBytes)} bytes as base64 or hex. Make one with: openssl rand -base64 32`,
    );
  }
  return toRootKey(bytes);
}

/**
 * Makes a new root key in a file that only its owner can read, durably. If several processes do so at once, the first
 * one's file stays. Returns false when another process was first.
 */
export function makeRootKey(file: string): boolean {
  const beside = `${file}.${String(process.pid)}`;
  rmSync(beside, { force: true });
  const descriptor = openSync(beside, 'wx', 0o600);
  try {
    writeSync(descriptor, `${randomBytes(keyBytes).toString('base64')}\n`);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  try {
    linkSync(beside, file);
    return true;
  } catch (error) {
    if ((error as { readonly code?: unknown }).code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(beside);
    flushFolder(dirname(file));
  }
}

/** Writes a root key over another one, in place: the bytes of the old one are overwritten. Durable. */
export function overwriteRootKey(file: string, by: string): void {
  const bytes = readFileSync(by);
  const descriptor = openSync(file, constants.O_RDWR | constants.O_CREAT, 0o600);
  try {
    writeSync(descriptor, bytes, 0, bytes.length, 0);
    ftruncateSync(descriptor, bytes.length);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** A new file survives a power cut once its folder is flushed. Windows flushes it with the file. */
function flushFolder(folder: string): void {
  if (process.platform === 'win32') return;
  const descriptor = openSync(folder, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Returns whether there is a file; a root key is never made over one. */
export function hasRootKey(file: string): boolean {
  return existsSync(file);
}

/** Returns whether other users of the machine can read the file. Windows has no such modes. */
export function isOpenToOthers(file: string): boolean {
  return process.platform !== 'win32' && (statSync(file).mode & 0o004) !== 0;
}

function toRootKey(bytes: Buffer): RootKey {
  const derived = (use: string): Buffer => Buffer.from(hkdfSync('sha256', bytes, '', `countersign:${use}`, keyBytes));
  return {
    wrapping: createSecretKey(derived('wrapping')),
    hashing: createSecretKey(derived('subjects')),
    fingerprint: createHmac('sha256', derived('fingerprint')).update('root key').digest('hex').slice(0, 16),
  };
}
