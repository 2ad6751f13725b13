import { once } from 'node:events';
import { createWriteStream, mkdirSync, readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { usageError } from '../cli-error.js';

/** Makes a folder for the output of a command. @throws CliError when it has something in it. */
export function emptyFolder(target: string): string {
  const folder = resolve(target);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (readdirSync(folder).length > 0) throw usageError(`${folder} is not empty.`, 'Name a new folder with -o.');
  return folder;
}

/** A text file that is written in pieces. */
export interface TextFile {
  /** Resolves when the next piece may be written. @throws the error of the disk. */
  readonly write: (text: string) => Promise<void>;
  /** Resolves when everything is written. */
  readonly end: () => Promise<void>;
}

/** Creates a file that only its owner can read. */
export function openText(file: string): TextFile {
  const stream = createWriteStream(file, { mode: 0o600 });
  const failed = new Promise<never>((_, reject) => stream.once('error', reject));
  failed.catch(() => undefined);
  return {
    write: async (text) => {
      if (!stream.write(text)) await Promise.race([once(stream, 'drain'), failed]);
    },
    end: async () => {
      stream.end();
      await Promise.race([once(stream, 'close'), failed]);
    },
  };
}
