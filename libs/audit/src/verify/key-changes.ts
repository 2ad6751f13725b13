import { systemStream } from '@countersign/contracts';
import { parseCheckpoint } from '../checkpoint.js';
import { bodyOf, parseEntry, tenantOf } from '../entry.js';
import type { Entry } from '../entry.js';
import { leafHash } from '../hashes.js';
import type { Hash } from '../hashes.js';
import { parseNote, verifyNote } from '../note.js';
import type { SignedNote } from '../note.js';
import { encodeTenant, parseOrigin } from '../origin.js';
import { parseTlogProof } from '../tlog-proof.js';
import { formatVkey, keyTypes, parseVkey } from '../verifier-key.js';
import type { VerifierKey } from '../verifier-key.js';
import { verifyInclusion } from '../verify-proofs.js';
import type { Anchor } from './anchors.js';
import { parseShown } from './parse-stored.js';
import { isProofEvent } from './proof-file.js';
import type { ProofFileEvent } from './proof-file.js';

/** A change of the log key within an epoch: a checkpoint that both keys signed, of a tree that holds the event with both. */
export interface KeyChange {
  readonly origin: string;
  /** The size and the root of that tree. */
  readonly size: number;
  readonly root: Hash;
  readonly before: VerifierKey;
  readonly after: VerifierKey;
  /** The ML-DSA-44 key that signed beside the old key. Absent: none did. */
  readonly mlDsa?: MlDsaChange | undefined;
}

/** A change of the ML-DSA-44 key of a log. */
export interface MlDsaChange {
  readonly before: VerifierKey;
  /** The one that signs beside the new key. Undefined: there is none, or the two signatures were not verified. */
  readonly after: VerifierKey | undefined;
}

/**
 * Verifies a change of the log key: its event is `LogKeyChanged` with its content, and is in the tree of the checkpoint, which
 * the old and the new key signed under its origin, and nothing but them and their ML-DSA-44 keys. Undefined where anything of that is
 * missing. It trusts none of the keys.
 */
export function keyChangeOf(event: ProofFileEvent): KeyChange | undefined {
  const signed = signedTreeOf(event);
  const keys = signed === undefined ? undefined : keysIn(event, signed.origin);
  if (signed === undefined || keys === undefined) return undefined;
  const { note, ...tree } = signed;
  const { mlDsa, ...pair } = keys;
  const seconds = [mlDsa?.before, mlDsa?.after].filter((key) => key !== undefined);
  const verified = verifiedOnly(note, [pair.before, pair.after, ...seconds]);
  if (!verified.includes(pair.before) || !verified.includes(pair.after)) return undefined;
  if (mlDsa === undefined) return { ...tree, ...pair };
  const after = seconds.every((key) => verified.includes(key)) ? mlDsa.after : undefined;
  return { ...tree, ...pair, mlDsa: { before: mlDsa.before, after } };
}

/** The keys that signed a note; none where it has a signature of another key, or a wrong one. */
function verifiedOnly(note: SignedNote, keys: readonly VerifierKey[]): readonly VerifierKey[] {
  const { verified, refuted, unknown } = verifyNote(note, keys);
  // This runtime may not have ML-DSA.
  const isOfThem = unknown.every((signature) => keys.some(({ id }) => id === signature.id));
  const isOnce = verified.length + unknown.length === note.signatures.length;
  return isOfThem && isOnce && refuted.length === 0 ? verified : [];
}

/** Reads changes that are kept with a log, one a line. One that is none changes nothing, and is left out. */
export function readKeyChanges(lines: readonly string[]): readonly KeyChange[] {
  return lines.flatMap((line) => {
    const event = parseShown(line);
    const change = isProofEvent(event) ? keyChangeOf(event) : undefined;
    return change === undefined ? [] : [change];
  });
}

/**
 * The keys that count for a checkpoint, from those that are trusted. A key that is trusted passes its trust on to the one of its type
 * that replaced it, for checkpoints from the change on, and itself counts for none after it.
 */
export function keysFor(
  { origin, size }: Pick<Anchor, 'origin' | 'size'>,
  trusted: readonly VerifierKey[],
  changes: readonly KeyChange[],
): readonly VerifierKey[] {
  const before = changes.filter((change) => change.origin === origin && change.size <= size);
  return before
    .toSorted((one, other) => one.size - other.size)
    .flatMap((change) => [change, ...(change.mlDsa === undefined ? [] : [{ size: change.size, ...change.mlDsa }])])
    .reduce((keys, change) => {
      if (!keys.some((key) => isSame(key, change.before))) return keys;
      const others = keys.filter((key) => change.size === size || !isSame(key, change.before));
      return change.after === undefined ? others : [...others, change.after];
    }, trusted);
}

/** The checkpoint of the proof, if the event is in its tree. */
function signedTreeOf({ index, entry, proof: text }: ProofFileEvent) {
  const proof = parseTlogProof(text);
  const note = parseNote(proof?.note ?? '');
  const checkpoint = parseCheckpoint(note?.text ?? '');
  if (proof === undefined || note === undefined || checkpoint === undefined || proof.index !== index) return undefined;
  const { origin, size, root } = checkpoint;
  const isInTree = verifyInclusion({ index, size, leaf: leafHash(entry), root, proof: proof.path });
  return isInTree ? { origin, size, root, note } : undefined;
}

/** The keys that the event names, all of this origin. */
function keysIn({ entry, body }: ProofFileEvent, origin: string) {
  if (body === null || !isKeyChangeOf(origin, parseEntry(entry), body)) return undefined;
  const { before, after, mlDsa } = (body.data ?? {}) as Readonly<Record<string, unknown>>;
  const [old, next] = [keyIn(before, origin, keyTypes.ed25519), keyIn(after, origin, keyTypes.ed25519)];
  if (old === undefined || next === undefined || isSame(old, next)) return undefined;
  if (mlDsa === undefined) return { before: old, after: next };
  const seconds = mlDsaIn(mlDsa, origin);
  return seconds === undefined ? undefined : { before: old, after: next, mlDsa: seconds };
}

function mlDsaIn(named: unknown, origin: string): MlDsaChange | undefined {
  const { before, after } = (named ?? {}) as Readonly<Record<string, unknown>>;
  const old = keyIn(before, origin, keyTypes.mlDsaCosignature);
  const next = after === null ? undefined : keyIn(after, origin, keyTypes.mlDsaCosignature);
  if (old === undefined || (next === undefined && after !== null)) return undefined;
  return next !== undefined && isSame(old, next) ? undefined : { before: old, after: next };
}

/** Returns whether an entry with its content is a change of the key, recorded in the log of this origin by a process itself. */
function isKeyChangeOf(origin: string, entry: Entry | undefined, body: NonNullable<ProofFileEvent['body']>): boolean {
  if (entry?.type !== 'LogKeyChanged' || bodyOf(body) !== entry.body) return false;
  const tenant = tenantOf(body);
  // Attack: the note of a move, which no hash covers, and which a person reads.
  if (tenant === undefined || 'moved' in (body.metadata as object)) return false;
  const isOfTenant = parseOrigin(origin)?.encodedTenant === encodeTenant(tenant);
  return isOfTenant && entry.stream.startsWith(systemStream(tenant, ''));
}

function keyIn(vkey: unknown, origin: string, type: number): VerifierKey | undefined {
  const key = typeof vkey === 'string' ? parseVkey(vkey) : undefined;
  return key?.name === origin && key.type === type ? key : undefined;
}

function isSame(one: VerifierKey, other: VerifierKey): boolean {
  return formatVkey(one) === formatVkey(other);
}
