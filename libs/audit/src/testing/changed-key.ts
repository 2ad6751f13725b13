import type { StoredEvent } from '@countersign/contracts';
import { entryOf } from '../entry.js';
import { formatNote, parseNote, signNote } from '../note.js';
import type { NoteSigner } from '../note.js';
import { formatTlogProof } from '../tlog-proof.js';
import { inclusionProof } from '../tree.js';
import type { ProofFileEvent } from '../verify/proof-file.js';
import { formatVkey } from '../verifier-key.js';
import { honestCheckpoint } from './honest-log.js';
import { nodesOf } from './proof-of-call.js';

const processId = 'k3zq2m7w4x6y5r9t2v7b3n4aqa';

/** The event of a change of the log key, after these events. */
export function keyChanged(events: readonly StoredEvent[], before: NoteSigner, after: NoteSigner): StoredEvent {
  const stream = `system-default-${processId}`;
  const last = events.at(-1);
  const changedAt = '2026-11-27T10:00:00.000Z';
  return {
    ...{ eventId: `00000000-0000-5000-8000-${String(events.length).padStart(12, '0')}`, type: 'LogKeyChanged', stream },
    revision: events.filter((event) => event.stream === stream).length,
    position: (last?.position ?? 0) + 1,
    recordedAt: last?.recordedAt ?? changedAt,
    data: { processId, before: formatVkey(before.key), after: formatVkey(after.key), changedAt },
    metadata: { tenant: 'default', callId: null, runId: null, schemaVersion: 2, commandId: 'system-1' },
  };
}

/** The last of these events with its proof, in a checkpoint that these keys sign. */
export function signedChange(events: readonly StoredEvent[], signers: readonly NoteSigner[]): ProofFileEvent {
  const text = parseNote(honestCheckpoint(events))?.text ?? '';
  return provenIn(events, formatNote(signNote(text, signers)));
}

/** The last of these events with its proof, in a note about these events. */
export function provenIn(events: readonly StoredEvent[], note: string): ProofFileEvent {
  const index = events.length - 1;
  const event = events[index] as StoredEvent;
  const path = inclusionProof(index, events.length, nodesOf(events));
  const { data, metadata } = event;
  return { index, entry: entryOf(event), body: { data, metadata }, proof: formatTlogProof({ index, path, note }) };
}
