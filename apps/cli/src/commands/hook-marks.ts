import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readSync,
  rmSync,
  writeFileSync,
  type Stats,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Marks } from '@countersign/coding-agents';

/** The number of this user, who may have no name; undefined on Windows, where each user has a temporary folder. */
const userId = process.getuid?.();
/** A mark is empty, or a number. */
const markBytesMax = 32;
/** Without them a read follows a link, and waits for ever for the writer of a pipe. */
const readFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Marks as files of this user, gone with the temporary folder. */
export function fileMarks(folder = join(tmpdir(), `countersign-hooks-${String(userId ?? 'user')}`)): Marks {
  return {
    get: (key) => {
      try {
        return isOwn(statOf(folder)) ? readMark(join(folder, key)) : undefined;
      } catch {
        return undefined;
      }
    },
    set: (key, text) => {
      try {
        // Node makes missing parents in an endless loop where none can be made, as in /proc.
        if (statOf(folder) === undefined) mkdirSync(folder, { mode: 0o700 });
        if (!isOwn(statOf(folder))) return;
        rmSync(join(folder, key), { force: true });
        // A new file alone: a link under this name is not followed.
        writeFileSync(join(folder, key), text, { flag: 'wx' });
      } catch {
        // docs/coding-agents.md says what a hook does without marks.
      }
    },
  };
}

function readMark(path: string): string | undefined {
  const file = openSync(path, readFlags);
  try {
    const found = fstatSync(file);
    if (!found.isFile() || found.size > markBytesMax) return undefined;
    const bytes = Buffer.alloc(markBytesMax);
    return bytes.toString('utf8', 0, readSync(file, bytes));
  } finally {
    closeSync(file);
  }
}

function statOf(folder: string): Stats | undefined {
  return lstatSync(folder, { throwIfNoEntry: false });
}

/** The attack: in a temporary folder that users share, another user makes the folder first. */
function isOwn(found: Stats | undefined): boolean {
  return found?.isDirectory() === true && (userId === undefined || found.uid === userId);
}
