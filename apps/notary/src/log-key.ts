import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, statSync, writeSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ConfigError, keepPrivate, readFileOf, readTextFile } from '@countersign/runtime';
import type { Log } from '@countersign/runtime';
import { readSignerProgram } from './exec-signer.js';
import type { SignerProgram } from './exec-signer.js';

/** Where the log key is. */
export interface LogKeyPlace {
  readonly folder: string;
  /** The operator's own key; null: `log.key` in the folder, made at the first start. */
  readonly logKeyFile: string | null;
  readonly log: Log;
  /** The variable that names the file. Default: `COUNTERSIGN_LOG_KEY_FILE`. */
  readonly variable?: string;
}

/**
 * Returns the 32 bytes of the log key's seed, from which the keys of all tenants are derived.
 * @throws ConfigError when the named file is missing or holds no Ed25519 key.
 */
export function loadLogSeed({
  folder,
  logKeyFile,
  log,
  variable = 'COUNTERSIGN_LOG_KEY_FILE',
}: LogKeyPlace): Uint8Array {
  if (logKeyFile !== null) {
    const seed = seedOf(readFileOf(variable, logKeyFile));
    if (seed === undefined) throw new ConfigError([{ variable, problem: noKey(logKeyFile) }]);
    if (process.platform !== 'win32' && (statSync(logKeyFile).mode & 0o004) !== 0) {
      log.warn({ file: logKeyFile }, 'every user of this machine can read the log key: chmod 600');
    }
    return seed;
  }
  return keptSeed(
    join(folder, 'log.key'),
    log,
    'a log key was made, which signs checkpoints; who has it and the data can rewrite both, so move it away and name it with COUNTERSIGN_LOG_KEY_FILE',
  );
}

/**
 * Returns the seed from which the keys of receipts are derived while a program signs the checkpoints: that of `receipt.key` in the
 * folder, made at the first start.
 */
export function loadReceiptSeed({ folder, log }: Omit<LogKeyPlace, 'logKeyFile'>): Uint8Array {
  const words =
    'a key was made that signs receipts alone, because a program signs the checkpoints; name your own with COUNTERSIGN_RECEIPT_KEY_FILE';
  return keptSeed(join(folder, 'receipt.key'), log, words);
}

function keptSeed(file: string, log: Log, madeWords: string): Uint8Array {
  if (!existsSync(file)) makeKey(file, log, madeWords);
  keepPrivate(file);
  const seed = seedOf(readTextFile(file));
  if (seed === undefined) throw new Error(noKey(file));
  return seed;
}

function makeKey(file: string, log: Log, madeWords: string): void {
  const pem = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' });
  const beside = `${file}.new`;
  rmSync(beside, { force: true });
  const descriptor = openSync(beside, 'wx', 0o600);
  try {
    writeSync(descriptor, pem);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  renameSync(beside, file);
  log.info({ file }, madeWords);
}

/** Undefined for a text that is no Ed25519 key in PKCS#8. */
function seedOf(pem: string): Uint8Array | undefined {
  const key = privateKeyIn(pem);
  if (key?.asymmetricKeyType !== 'ed25519') return undefined;
  const { d } = key.export({ format: 'jwk' });
  return d === undefined ? undefined : Buffer.from(d, 'base64url');
}

function privateKeyIn(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem);
  } catch {
    return undefined;
  }
}

function noKey(file: string): string {
  return `${file} holds no Ed25519 key in PKCS#8 PEM. Make one with: openssl genpkey -algorithm ed25519 -out ${file}`;
}

/** The log key that signed before: a file with it, or a program that signs with it. */
export type PreviousLogKey = { readonly file: string } | { readonly command: SignerProgram['command'] };

/** Reads `COUNTERSIGN_LOG_KEY_PREVIOUS`: a path, which starts at the folder, or `exec:` and a program. Null: there is none. */
export function readPreviousLogKey(setting: string | undefined, folder: string): PreviousLogKey | null {
  if (setting === undefined) return null;
  const command = readSignerProgram(setting);
  return command === undefined ? { file: resolve(folder, setting) } : { command };
}

/** Returns the seed of the log key that signed before; undefined where a program has it. @throws ConfigError */
export function loadPreviousSeed(previous: PreviousLogKey | null, log: Log): Uint8Array | undefined {
  if (previous === null || 'command' in previous) return undefined;
  return loadLogSeed({ folder: '', logKeyFile: previous.file, log, variable: 'COUNTERSIGN_LOG_KEY_PREVIOUS' });
}
