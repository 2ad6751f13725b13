import type { StoredEvent } from '@countersign/contracts';
import { entryOf } from '../entry.js';
import { leafHash } from '../hashes.js';
import type { NoteSigner } from '../note.js';
import { createGrowingTree, inclusionProof } from '../tree.js';
import { formatTlogProof } from '../tlog-proof.js';
import type { ProofFile } from '../verify/proof-file.js';
import { honestCheckpoint } from './honest-log.js';

/** The nodes of the tree over these events. */
export function nodesOf(events: readonly StoredEvent[]): (level: number, index: number) => Uint8Array {
  const nodes = new Map<string, Uint8Array>();
  const tree = createGrowingTree(undefined, (level, index, hash) => nodes.set(`${level}/${index}`, hash));
  for (const event of events) tree.append(leafHash(entryOf(event)));
  return (level, index) => nodes.get(`${level}/${index}`) ?? new Uint8Array(0);
}

/** The proof of a call in the log of these events, as the server makes it. */
export function proofOfCall(events: readonly StoredEvent[], callId: string, signer?: NoteSigner): ProofFile {
  const note = honestCheckpoint(events, signer);
  const read = nodesOf(events);
  const proven = events.flatMap((event, index) => {
    if (event.stream !== `toolCall-${callId}` && !event.stream.startsWith('batch-')) return [];
    const path = inclusionProof(index, events.length, read);
    const { data, metadata } = event;
    return [{ index, entry: entryOf(event), body: { data, metadata }, proof: formatTlogProof({ index, path, note }) }];
  });
  const policies = events
    .filter(({ type }) => type === 'PolicyActivated')
    .map(({ data }) => data as ProofFile['policies'][number])
    .map(({ policyVersion, content }) => ({ policyVersion, content }));
  const origin = note.split('\n')[0] ?? '';
  return { tenant: 'default', origin, callId, checkpoint: note, events: proven, policies, later: 'not excluded' };
}
