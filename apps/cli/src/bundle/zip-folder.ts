import { createWriteStream, renameSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createZip } from '@countersign/exports';
import { filesIn } from './manifest.js';

/** Writes all files of a folder as a zip file, one after the other. The file has its name when it is complete. */
export async function zipFolder(folder: string, file: string): Promise<void> {
  const entries = filesIn(folder).map((path) => ({ path, file: join(folder, path) }));
  await pipeline(createZip(entries), createWriteStream(`${file}.next`));
  renameSync(`${file}.next`, file);
}
