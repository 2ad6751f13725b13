import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { StoredEvent } from '@countersign/contracts';
import { formatCheckpoint } from '../checkpoint.js';
import { entryOf } from '../entry.js';
import { leafHash } from '../hashes.js';
import { createEd25519Signer } from '../log-key.js';
import { formatNote, signNote } from '../note.js';
import type { NoteSigner } from '../note.js';
import { createGrowingTree } from '../tree.js';

/** A log that a process of schema version 1 wrote, with events of nearly every type. */
export function versionOneLog(): readonly StoredEvent[] {
  const file = join(import.meta.dirname, '../../../read-model/src/golden/version-1.ndjson');
  const lines = readFileSync(file, 'utf8').trim().split('\n');
  return lines.map((line) => JSON.parse(line) as StoredEvent);
}

const origin = 'countersign.example/default/1';

/** The key of the log, and one of another person under the same name. */
export const testSigner: NoteSigner = createEd25519Signer(origin, new Uint8Array(32).fill(1));
export const strangerSigner: NoteSigner = createEd25519Signer(origin, new Uint8Array(32).fill(2));

/** The checkpoint of these events, all of one tenant, as a signed note. */
export function honestCheckpoint(events: readonly StoredEvent[], signer: NoteSigner = testSigner): string {
  const tree = createGrowingTree();
  for (const event of events) tree.append(leafHash(entryOf(event)));
  const text = formatCheckpoint({ origin, size: tree.size(), root: tree.root(), extensions: [] });
  return formatNote(signNote(text, [signer]));
}
