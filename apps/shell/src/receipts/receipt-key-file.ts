import { createPrivateKey } from 'node:crypto';
import { statSync } from 'node:fs';
import { ConfigError, readFileOf } from '@countersign/runtime';
import type { Log } from '@countersign/runtime';
import { watchForChanges } from '../input/watch-for-changes.js';
import { digestOfValue, noteRefused, recordConfiguration } from '../record/configuration.js';
import type { SystemLog } from '../record/system-log.js';
import { createReceiptKeys } from './receipt-keys.js';
import type { ReceiptKeys } from './receipt-keys.js';

const variable = 'COUNTERSIGN_RECEIPT_KEY_FILE';

/** The keys of receipts, out of a file that may change while the process runs. */
export interface ReceiptKeyFile {
  readonly keys: () => ReceiptKeys;
  /** Records which public keys there are, now and after each change. */
  readonly recordIn: (system: SystemLog) => Promise<void>;
  /** False while the file cannot be used, and earlier keys stay in force. */
  readonly isCurrent: () => boolean;
  /** Reads the file again; a file that cannot be used changes nothing and is logged. */
  readonly reload: () => void;
  readonly close: () => void;
}

/**
 * Reads the file with the keys of receipts: one or more Ed25519 keys in PKCS#8 PEM. The first one signs; the others are published,
 * so that receipts that they signed are still accepted, or will be. A change of the file is noticed within two seconds; a file that
 * cannot be used then changes nothing and is logged.
 * @throws ConfigError when the file is missing or holds no such key.
 */
export function openReceiptKeyFile(file: string, log: Log): ReceiptKeyFile {
  const read = (): ReceiptKeys => createReceiptKeys(readReceiptSeeds(file));
  let keys = read();
  let isCurrent = true;
  let recording: SystemLog | undefined;
  if (process.platform !== 'win32' && (statSync(file).mode & 0o004) !== 0) {
    log.warn({ file }, 'every user of this machine can read the key of receipts: chmod 600');
  }
  const record = (): Promise<void> =>
    recording === undefined ? Promise.resolve() : recordReceiptKeys(recording, keys);
  const reload = (): void => {
    try {
      keys = read();
      isCurrent = true;
      log.info({ file, kid: kidsOf(keys)[0] }, 'the keys of receipts were read again');
    } catch (error) {
      isCurrent = false;
      log.error({ file, error }, 'the file with the keys of receipts is invalid; the previous keys stay in force');
      if (recording !== undefined) noteRefused(recording, 'receipts', error, file);
      return;
    }
    record().catch((error: unknown) => log.error({ error }, 'the change of the keys of receipts is not recorded'));
  };
  return {
    keys: () => keys,
    recordIn: (system) => {
      recording = system;
      return record();
    },
    isCurrent: () => isCurrent,
    reload,
    close: watchForChanges(file, reload),
  };
}

/** Records the ids of the public keys of the tenant `default`, which stand for the keys of all tenants. */
export function recordReceiptKeys(system: SystemLog, keys: ReceiptKeys | undefined): Promise<void> {
  const summary = kidsOf(keys);
  return recordConfiguration(system, [{ configures: 'receipts', digest: digestOfReceiptKeys(keys), summary }]);
}

/** The digest of the ids of the keys. Processes with the same keys have the same one. */
export function digestOfReceiptKeys(keys: ReceiptKeys | undefined): string {
  return digestOfValue(keys === undefined ? null : kidsOf(keys));
}

function kidsOf(keys: ReceiptKeys | undefined): string[] {
  return keys?.of('default').map(({ jwk }) => jwk.kid) ?? [];
}

/** The seeds of the keys in the file, in order. @throws ConfigError */
export function readReceiptSeeds(file: string): readonly [Uint8Array, ...Uint8Array[]] {
  const pems = readFileOf(variable, file).match(/-----BEGIN [^-]+-----[^-]*-----END [^-]+-----/g) ?? [];
  const seeds = pems.map(seedOf).filter((seed) => seed !== undefined);
  const [first, ...others] = seeds;
  if (first !== undefined && seeds.length === pems.length) return [first, ...others];
  const remedy = `Make one with: openssl genpkey -algorithm ed25519 -out ${file}`;
  throw new ConfigError([{ variable, problem: `${file} must hold Ed25519 keys in PKCS#8 PEM alone. ${remedy}` }]);
}

function seedOf(pem: string): Uint8Array | undefined {
  try {
    const key = createPrivateKey(pem);
    const { d } = key.asymmetricKeyType === 'ed25519' ? key.export({ format: 'jwk' }) : {};
    return d === undefined ? undefined : Buffer.from(d, 'base64url');
  } catch {
    return undefined;
  }
}
