import { unwatchFile, watchFile } from 'node:fs';
import type { Stats } from 'node:fs';

const lookMs = 2000;

/**
 * Calls `onChange` within two seconds after a file was written or replaced. Returns a function that stops watching.
 * Keeps no process alive.
 */
export function watchForChanges(path: string, onChange: () => void): () => void {
  const look = (now: Stats, before: Stats): void => {
    if (now.mtimeMs !== before.mtimeMs || now.ino !== before.ino) onChange();
  };
  watchFile(path, { interval: lookMs, persistent: false }, look);
  return () => unwatchFile(path, look);
}
