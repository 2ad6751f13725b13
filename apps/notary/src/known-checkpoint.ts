import { parseCheckpoint, parseNote, parseOrigin, verifyNote } from '@countersign/audit';
import type { Checkpoint, VerifierKey } from '@countersign/audit';
import type { KeptCheckpoint } from './sqlite/checkpoint-file.js';

/** A checkpoint that was signed before. */
export interface Known extends Checkpoint {
  readonly epoch: number;
  readonly base: string;
  readonly note: string;
}

/** Reads a checkpoint that was kept. @throws Error when it cannot be read */
export function toKnown({ tenant, epoch, note }: KeptCheckpoint): Known {
  const checkpoint = parseCheckpoint(parseNote(note)?.text ?? '');
  const base = parseOrigin(checkpoint?.origin ?? '')?.base;
  if (checkpoint !== undefined && base !== undefined) return { ...checkpoint, base, epoch, note };
  throw new Error(
    `a checkpoint of tenant "${tenant}" that was kept cannot be read: restore checkpoints.db from a backup`,
  );
}

/** Returns whether the key signed the checkpoint. */
export function isSigned({ note }: Known, key: VerifierKey): boolean {
  const parsed = parseNote(note);
  return parsed !== undefined && verifyNote(parsed, [key]).verified.length > 0;
}
