import { loadLogSeed, loadPreviousSeed, loadReceiptSeed } from '@countersign/notary';
import { createReceiptKeys, createReceipts, openReceiptKeyFile, recordReceiptKeys, urlOf } from '@countersign/shell';
import type { Receipts, ReloadedFile, RuntimePorts, SystemLog } from '@countersign/shell';
import type { StandaloneConfig } from './config.js';

/** The receipts of the process. */
export interface StandaloneReceipts extends Receipts {
  /** Says where the process listens, and returns its public URL, which receipts name. */
  readonly listensAt: (url: string) => URL;
  readonly recordIn: (system: SystemLog) => Promise<void>;
  /** The file of the keys, where there is one. */
  readonly followed: readonly ReloadedFile[];
}

/**
 * Opens the keys of receipts: the operator's own, or those that derive from the log key, or from a key of receipts alone while a
 * program signs the checkpoints.
 * @throws ConfigError
 */
export function openReceipts(
  config: StandaloneConfig,
  { log }: Pick<RuntimePorts, 'log'>,
  stops: (() => void | Promise<void>)[],
): StandaloneReceipts {
  const { receiptKeyFile, receiptNames: names, publicUrl, host, port } = config;
  let issuer = publicUrl?.origin ?? urlOf(host, port);
  const { keys, recordIn, isCurrent, close } =
    receiptKeyFile === null ? derived(config, log) : openReceiptKeyFile(receiptKeyFile, log);
  stops.push(close);
  return {
    ...createReceipts({ keys, issuer: () => issuer, names }),
    listensAt: (url) => {
      const named = publicUrl ?? new URL(url);
      issuer = named.origin;
      return named;
    },
    recordIn,
    followed: receiptKeyFile === null ? [] : [{ name: 'receipts', isCurrent }],
  };
}

function derived(
  { dataFolder: folder, logKeyFile, logSigner, previousLogKey }: StandaloneConfig,
  log: RuntimePorts['log'],
) {
  const hasLogKey = logSigner === null || logKeyFile !== null;
  const seed = hasLogKey ? loadLogSeed({ folder, logKeyFile, log }) : loadReceiptSeed({ folder, log });
  // Receipts of the key before are still good for as long as their leases.
  const previous = loadPreviousSeed(previousLogKey, log);
  const keys = createReceiptKeys([seed, ...(previous === undefined ? [] : [previous])]);
  return {
    keys: () => keys,
    recordIn: (system: SystemLog) => recordReceiptKeys(system, keys),
    isCurrent: () => true,
    close: () => undefined,
  };
}
