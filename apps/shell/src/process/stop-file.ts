import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readTextFile } from '@countersign/runtime';

/** The file in a data folder that stops every call of its process, when nothing else answers. Its content is the reason. */
const stopFileName = 'STOP';

const reasonMax = 1000;

/**
 * Reads the file that stops everything. The result is called before each grant; undefined: there is no such file. The file is
 * looked for once in each turn of the event loop, however many grants that turn has: a request that arrives after the file was
 * written is read in a later one.
 */
export function createStopFile(folder: string): () => string | undefined {
  const file = join(folder, stopFileName);
  return oncePerTurn(() => (existsSync(file) ? reasonIn(file) : undefined));
}

function oncePerTurn<T>(look: () => T): () => T {
  let last: { readonly found: T } | undefined;
  const forget = () => void (last = undefined);
  return () => {
    if (last === undefined) {
      last = { found: look() };
      setImmediate(forget);
    }
    return last.found;
  };
}

/** A file that cannot be read stops as well. */
function reasonIn(file: string): string {
  try {
    return readTextFile(file).trim().slice(0, reasonMax) || `there is the file ${file}`;
  } catch {
    return `there is the file ${file}`;
  }
}
