import { parseCheckpoint } from '../checkpoint.js';
import type { Checkpoint } from '../checkpoint.js';
import { parseNote, verifyNote } from '../note.js';
import type { SignedNote } from '../note.js';
import { encodeTenant, parseOrigin } from '../origin.js';
import type { VerifierKey } from '../verifier-key.js';

/** A checkpoint that a log is compared with. */
export interface Anchor extends Pick<Checkpoint, 'origin' | 'size' | 'root'> {
  readonly epoch: number;
  readonly encodedTenant: string;
  readonly note: SignedNote;
}

/**
 * Reads the checkpoints of a text, one after the other, without verifying them. Undefined for a text that is anything else.
 * An auditor may keep all of them in one file.
 */
export function readAnchors(text: string): readonly Anchor[] | undefined {
  const notes = text.match(/(?:(?!\u2014 ).*\n)+(?:\u2014 .*(?:\n|$))+\n*/gu) ?? [];
  const anchors = notes.map(readAnchor).filter((anchor) => anchor !== undefined);
  return anchors.length === 0 || notes.join('') !== text || anchors.length !== notes.length ? undefined : anchors;
}

function readAnchor(text: string): Anchor | undefined {
  // A shell takes the last newline away, and a person may leave lines empty.
  const note = parseNote(`${text.trim()}\n`);
  const checkpoint = note === undefined ? undefined : parseCheckpoint(note.text);
  if (note === undefined || checkpoint === undefined) return undefined;
  const { origin, size, root } = checkpoint;
  const parts = parseOrigin(origin);
  return parts === undefined ? undefined : { origin, size, root, note, ...parts };
}

/** Returns whether a checkpoint is of this tenant's log. */
export function isOfTenant({ encodedTenant }: Anchor, tenant: string): boolean {
  return encodedTenant === encodeTenant(tenant);
}

/**
 * Why a checkpoint is not vouched for by the keys that are trusted; undefined: it is. The key's name must be the origin:
 * a key of another log, or of another epoch, says nothing about this one.
 */
export function whyNotSigned({ note, origin }: Anchor, keys: readonly VerifierKey[]): string | undefined {
  const { verified, refuted } = verifyNote(note, keys);
  if (refuted.length > 0)
    return `it has a signature under the name of ${refuted[0]?.name ?? ''} that is not of its key`;
  if (verified.some(({ name }) => name === origin)) return undefined;
  return `no key that you trust has signed it: its origin is ${origin}, your keys are of ${keys.map(({ name }) => name).join(', ')}`;
}
