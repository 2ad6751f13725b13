import { backup } from 'node:sqlite';
import { openReadOnly } from './read-only.js';

/** Copies a database as it is at one moment, also while a server writes it, into a new file. */
export async function copyDatabase(file: string, target: string): Promise<void> {
  const source = openReadOnly(file);
  try {
    await backup(source, target);
  } finally {
    source.close();
  }
}

/** The ids of the keys in a `keys.db`, also of destroyed ones. */
export function keyIdsIn(file: string): ReadonlySet<string> {
  const database = openReadOnly(file);
  try {
    return new Set(
      database
        .prepare('SELECT id FROM keys')
        .all()
        .map(({ id }) => String(id)),
    );
  } finally {
    database.close();
  }
}
