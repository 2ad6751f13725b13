import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { timestampFiles } from './layout.js';

/** A time stamp for a bundle. */
export interface ExportedStamp {
  readonly epoch: number;
  readonly size: number;
  readonly text: string;
  readonly reply: Uint8Array;
}

/** Where the time stamps of a bundle end. */
export type LastStamp = Pick<ExportedStamp, 'epoch' | 'size'>;

/** The end of a bundle, in the epoch of its checkpoint. */
export interface BundleEnd {
  readonly epoch: number;
  readonly size: number;
  /** The newest time stamp when the bundle was begun: a run that continues makes the same bundle. */
  readonly last: LastStamp;
}

/** Writes the time stamps of checkpoints that a bundle covers. */
export async function writeTimestamps(
  folder: string,
  stamps: AsyncIterable<ExportedStamp> | Iterable<ExportedStamp>,
  { epoch, size, last }: BundleEnd,
): Promise<void> {
  for await (const stamp of stamps) {
    const isLater = stamp.epoch > last.epoch || (stamp.epoch === last.epoch && stamp.size > last.size);
    if (isLater) return;
    if (stamp.epoch > epoch || stamp.size > size) continue;
    const files = timestampFiles(stamp.epoch, stamp.size);
    mkdirSync(dirname(join(folder, files.reply)), { recursive: true });
    writeFileSync(join(folder, files.text), stamp.text);
    writeFileSync(join(folder, files.reply), stamp.reply);
  }
}
