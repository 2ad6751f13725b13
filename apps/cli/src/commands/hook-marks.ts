import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import type { Marks } from '@countersign/coding-agents';

/** Marks as empty files of this user, gone with the temporary folder. */
export function fileMarks(): Marks {
  const folder = join(tmpdir(), `countersign-hooks-${userInfo().username}`);
  return {
    has: (key) => existsSync(join(folder, key)),
    add: (key) => {
      try {
        mkdirSync(folder, { recursive: true, mode: 0o700 });
        writeFileSync(join(folder, key), '');
      } catch {
        // Without a mark people are asked once more, or a warning is repeated.
      }
    },
  };
}
