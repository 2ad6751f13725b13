import { createReceipts, openReceiptKeyFile } from '@countersign/shell';
import type { ReceiptKeys, Receipts, SystemLog } from '@countersign/shell';
import type { RoleProcess } from './role-process.js';

/** The receipts of a process, and its keys. */
export interface ClusterReceipts {
  readonly receipts: Receipts;
  readonly keys: () => ReceiptKeys;
  /** Records which public keys there are, now and after each change. */
  readonly recordIn: (system: SystemLog) => Promise<void>;
}

/** Opens the keys of receipts; undefined without a file of keys: then claims have no receipts. @throws ConfigError */
export function openReceipts({ config, log, onStop, followed }: RoleProcess): ClusterReceipts | undefined {
  const { receiptKeyFile, receiptNames: names, publicUrl } = config;
  if (receiptKeyFile === null || publicUrl === null) return undefined;
  const { keys, recordIn, isCurrent, close } = openReceiptKeyFile(receiptKeyFile, log);
  onStop(close);
  followed({ name: 'receipts', isCurrent });
  return { keys, recordIn, receipts: createReceipts({ keys, issuer: () => publicUrl.origin, names }) };
}
