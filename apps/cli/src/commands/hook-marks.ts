import { existsSync, lstatSync, mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Marks } from '@countersign/coding-agents';

/** The number of this user, who may have no name; undefined on Windows, where each user has a temporary folder. */
const userId = process.getuid?.();

/** Marks as empty files of this user, gone with the temporary folder. */
export function fileMarks(folder = join(tmpdir(), `countersign-hooks-${String(userId ?? 'user')}`)): Marks {
  return {
    has: (key) => isOwn(folder) && existsSync(join(folder, key)),
    add: (key) => {
      try {
        mkdirSync(folder, { recursive: true, mode: 0o700 });
        // A new file alone: a link under this name is not followed.
        if (isOwn(folder)) writeFileSync(join(folder, key), '', { flag: 'wx' });
      } catch {
        // Without a mark people are asked once more, or a warning is repeated.
      }
    },
  };
}

/** The attack: in a temporary folder that users share, another user makes the folder first. */
function isOwn(folder: string): boolean {
  const found = lstatSync(folder, { throwIfNoEntry: false });
  return found?.isDirectory() === true && (userId === undefined || found.uid === userId);
}
