import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { BusFile } from './bus-file.js';

/** Returns the furthest position that any consumer group of a folder's `bus.db` has reached; 0 where there is none. */
export function furthestProgress(folder: string): number {
  return withFile(folder, (file) => file.furthestPosition()) ?? 0;
}

/** Deletes the progress beyond a position. Those groups start at the first event again. */
export function forgetProgressBeyond(folder: string, position: number): void {
  withFile(folder, (file) => {
    file.forgetBeyond(position);
  });
}

function withFile<T>(folder: string, work: (file: BusFile) => T): T | undefined {
  if (!existsSync(join(folder, 'bus.db'))) return undefined;
  const file = new BusFile(folder);
  try {
    return work(file);
  } finally {
    file.close();
  }
}
