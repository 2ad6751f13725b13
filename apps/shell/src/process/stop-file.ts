import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readTextFile } from '@countersign/runtime';

/** The file in a data folder that stops every call of its process, when nothing else answers. Its content is the reason. */
const stopFileName = 'STOP';

const reasonMax = 1000;

/** Reads the file that stops everything. The result is called before each grant; undefined: there is no such file. */
export function createStopFile(folder: string): () => string | undefined {
  const file = join(folder, stopFileName);
  return () => (existsSync(file) ? reasonIn(file) : undefined);
}

/** A file that cannot be read stops as well. */
function reasonIn(file: string): string {
  try {
    return readTextFile(file).trim().slice(0, reasonMax) || `there is the file ${file}`;
  } catch {
    return `there is the file ${file}`;
  }
}
