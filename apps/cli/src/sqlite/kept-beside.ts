import type { DatabaseSync } from 'node:sqlite';
import type { Hash } from '@countersign/audit';
import { hashBytes, tileWidth } from '@countersign/audit';
import { keyChangesMax } from '../audit/key-change-lines.js';
import type { KeptStamp, ReadStamp } from '../audit/timestamps.js';

/** The checkpoints of a tenant in `checkpoints.db`: the newest of each epoch, with its cosignatures. */
export function notesOf(kept: DatabaseSync, tenant: string): readonly string[] {
  const notesIn = (sql: string) =>
    kept
      .prepare(sql)
      .all(tenant)
      .map(({ note }) => String(note));
  const notes = notesIn('SELECT note FROM checkpoints WHERE tenant = ? ORDER BY epoch DESC');
  const [cosigned] = hasTable(kept, 'cosigned') ? notesIn('SELECT note FROM cosigned WHERE tenant = ?') : [];
  if (cosigned === undefined) return notes;
  // Cosignatures are lines at the end of the same note. The newest checkpoint may have none yet.
  const at = notes.findIndex((note) => cosigned.startsWith(note));
  return at === -1 ? [...notes, cosigned] : notes.with(at, cosigned);
}

/** A folder of an older version has fewer tables. */
function hasTable(database: DatabaseSync, name: string): boolean {
  return database.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?").get(name) !== undefined;
}

/** The proofs of the changes of the signing key. */
export function keyChangesOf(kept: DatabaseSync, tenant: string): readonly string[] {
  if (!hasTable(kept, 'key_changes')) return [];
  const sql = 'SELECT proof FROM key_changes WHERE tenant = ? ORDER BY epoch, size LIMIT ?';
  const changes = kept.prepare(sql).all(tenant, keyChangesMax + 1);
  return changes.map(({ proof }) => String(proof));
}

/** The time stamps of the checkpoints. */
export function stampsOf(kept: DatabaseSync, tenant: string): readonly KeptStamp[] {
  if (!hasTable(kept, 'timestamps')) return [];
  const one = kept.prepare('SELECT text, reply FROM timestamps WHERE tenant = ? AND epoch = ? AND size = ?');
  const all = kept.prepare('SELECT epoch, size FROM timestamps WHERE tenant = ? ORDER BY epoch, size').all(tenant);
  return all.map((row) => {
    const [epoch, size] = [Number(row['epoch']), Number(row['size'])];
    const read = (): ReadStamp | undefined => {
      const { text, reply } = one.get(tenant, epoch, size) ?? {};
      return typeof text === 'string' && reply instanceof Uint8Array ? { text, reply } : undefined;
    };
    return { epoch, size, read };
  });
}

/** The leaf hashes of a tenant, by their index, from `log-tree.db`. */
export function leavesOf(tree: DatabaseSync, tenant: string): (index: number) => Hash | undefined {
  const tile = tree.prepare('SELECT hashes FROM tiles WHERE tenant = ? AND level = 0 AND number = ?');
  let [number, hashes] = [-1, new Uint8Array(0)];
  return (index) => {
    const wanted = Math.floor(index / tileWidth);
    if (wanted !== number) {
      const found = tile.get(tenant, wanted)?.['hashes'];
      [number, hashes] = [wanted, found instanceof Uint8Array ? found : new Uint8Array(0)];
    }
    const at = (index % tileWidth) * hashBytes;
    return at + hashBytes <= hashes.length ? hashes.subarray(at, at + hashBytes) : undefined;
  };
}
