import { lstatSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Marks } from '@countersign/coding-agents';

/** The number of this user, who may have no name; undefined on Windows, where each user has a temporary folder. */
const userId = process.getuid?.();

/** Marks as files of this user, gone with the temporary folder. */
export function fileMarks(folder = join(tmpdir(), `countersign-hooks-${String(userId ?? 'user')}`)): Marks {
  return {
    get: (key) => {
      try {
        return isOwn(folder) ? readFileSync(join(folder, key), 'utf8') : undefined;
      } catch {
        return undefined;
      }
    },
    set: (key, text) => {
      try {
        mkdirSync(folder, { recursive: true, mode: 0o700 });
        if (!isOwn(folder)) return;
        rmSync(join(folder, key), { force: true });
        // A new file alone: a link under this name is not followed.
        writeFileSync(join(folder, key), text, { flag: 'wx' });
      } catch {
        // Without a mark people are asked once more, a warning is repeated, or a later attempt has no report.
      }
    },
  };
}

/** The attack: in a temporary folder that users share, another user makes the folder first. */
function isOwn(folder: string): boolean {
  const found = lstatSync(folder, { throwIfNoEntry: false });
  return found?.isDirectory() === true && (userId === undefined || found.uid === userId);
}
