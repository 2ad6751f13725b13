import { createWriteStream, renameSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createZip } from '@countersign/exports';
import { filesIn } from './manifest.js';
import { ownFile } from './progress-file.js';

/** Writes all files of a folder as a zip file, one after the other. The file has its name when it is complete. */
export async function zipFolder(folder: string, file: string): Promise<void> {
  const paths = filesIn(folder).filter((path) => !path.startsWith(ownFile));
  const entries = paths.map((path) => ({ path, file: join(folder, path) }));
  await pipeline(createZip(entries), createWriteStream(`${file}.next`));
  renameSync(`${file}.next`, file);
}
