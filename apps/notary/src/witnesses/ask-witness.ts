import {
  isSameHash,
  consistencyProof,
  parseCheckpoint,
  parseNote,
  parseSignatureLine,
  verifyNote,
} from '@countersign/audit';
import type { NoteSignature, PolicyWitness } from '@countersign/audit';
import type { Sender } from '../sinks/send.js';
import type { TenantTree } from '../tenant-tree.js';

/** The tree of a tenant, as far as a proof needs it. */
export type ProvingTree = Pick<TenantTree, 'size' | 'rootAt' | 'node'>;

/** A checkpoint of the log, and the tree that it is of. */
export interface Asked {
  /** The signed note, without cosignatures. */
  readonly note: string;
  readonly tree: ProvingTree;
  /** How many leaves the witness has seen, as far as is known. */
  readonly old: number;
}

/** The answer of a witness. */
export type WitnessAnswer =
  | { readonly status: 'cosigned'; readonly cosignature: NoteSignature; readonly size: number }
  /** The witness has seen something that the checkpoint contradicts. */
  | { readonly status: 'contradicted'; readonly why: string }
  /** The tree is being built and is not that large yet. */
  | { readonly status: 'waits' }
  /** It cosigned nothing. */
  | { readonly status: 'refused'; readonly why: string };

const triesMax = 3;
const decimal = /^(?:0|[1-9][0-9]{0,15})$/;

/**
 * Asks a witness for its cosignature by `add-checkpoint` of C2SP's tlog-witness. A witness that has seen another size than was
 * thought says so, and gets the proof from there.
 * @throws Error when there is no answer
 */
export async function askWitness(
  { send }: Pick<Sender, 'send'>,
  { key, url }: Pick<PolicyWitness, 'key' | 'url'>,
  { note, tree, old: known }: Asked,
): Promise<WitnessAnswer> {
  const size = readySize(note, tree);
  if (size === undefined) return { status: 'waits' };
  const address = new URL(`${(url ?? '').replace(/\/$/, '')}/add-checkpoint`);
  let old = Math.min(known, size);
  for (let tries = 0; tries < triesMax; tries += 1) {
    const proof = consistencyProof(old, size, tree.node).map((hash) => `${Buffer.from(hash).toString('base64')}\n`);
    const body = Buffer.from(`old ${String(old)}\n${proof.join('')}\n${note}`);
    const headers = { 'content-type': 'text/plain; charset=utf-8' };
    const answer = await send({ method: 'POST', url: address, headers, body });
    const text = Buffer.from(answer.body).toString();
    if (answer.status === 200) return cosignedBy(key, note, text, size);
    if (answer.status === 422) return contradicted(old === size ? anotherRoot(size) : refusedProof(old, size));
    if (answer.status !== 409) return refused(wordsOf(answer.status));
    const seen = sizeSeen(text.trim(), old, size);
    if (typeof seen !== 'number') return seen;
    old = seen;
  }
  return refused('it answers 409 with another size each time');
}

/** The size that an answer 409 names, from which a proof is sent; where none helps, what that means. */
function sizeSeen(text: string, old: number, size: number): number | WitnessAnswer {
  const seen = decimal.test(text) ? Number(text) : undefined;
  // The size was right, so the root is another one. Earlier versions of the protocol say so with 409 and no size, later ones with 422.
  if (old === size && (seen ?? size) === size) return contradicted(anotherRoot(size));
  if (seen === undefined) return refused('its answer 409 has no size');
  if (seen > size) return contradicted(`it has seen ${String(seen)} events, and the log has ${String(size)} signed`);
  return seen === old ? refused('it answers 409 with the size that it was sent') : seen;
}

/** The size of a checkpoint that the tree agrees with; undefined: the tree is being built. */
function readySize(note: string, tree: ProvingTree): number | undefined {
  const signed = parseCheckpoint(parseNote(note)?.text ?? '');
  if (signed === undefined || tree.size() < signed.size) return undefined;
  return isSameHash(tree.rootAt(signed.size), signed.root) ? signed.size : undefined;
}

function anotherRoot(size: number): string {
  return `it has seen another root of ${String(size)} events`;
}

function refusedProof(old: number, size: number): string {
  return `it refuses the proof from ${String(old)} to ${String(size)} events`;
}

function refused(why: string): WitnessAnswer {
  return { status: 'refused', why };
}

function contradicted(why: string): WitnessAnswer {
  return { status: 'contradicted', why };
}

/** Only a line of this witness that verifies counts. Attack: the answer has cosignatures of others, or of another checkpoint. */
function cosignedBy(key: PolicyWitness['key'], note: string, answer: string, size: number): WitnessAnswer {
  const text = parseNote(note)?.text ?? '';
  for (const line of answer.split('\n')) {
    const signature = parseSignatureLine(line);
    if (signature === undefined) continue;
    if (verifyNote({ text, signatures: [signature] }, [key]).verified.length === 0) continue;
    return { status: 'cosigned', cosignature: signature, size };
  }
  return refused('its answer has no cosignature of its key');
}

function wordsOf(status: number): string {
  if (status === 404) return 'it does not know this log (404): give its operator the vkey and the origin';
  if (status === 403) return 'it trusts none of the signatures (403): give its operator the vkey';
  return `it answered with ${String(status)}`;
}
