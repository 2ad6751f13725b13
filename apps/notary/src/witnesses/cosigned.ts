import { formatNote, parseCheckpoint, parseNote, verifyNote } from '@countersign/audit';
import type { NoteSignature, SignedNote, WitnessPolicy } from '@countersign/audit';
import type { Clock } from '@countersign/runtime';
import type { CheckpointFile } from '../sqlite/checkpoint-file.js';

/** The dependencies of the cosigned checkpoints. */
export interface CosignedPorts {
  readonly policy: WitnessPolicy;
  readonly file: Pick<CheckpointFile, 'cosigned' | 'saveCosigned'>;
  /** The newest signed checkpoint of a tenant, without cosignatures. */
  readonly newest: (tenant: string) => string | undefined;
  readonly clock: Clock;
}

/** The cosignatures of the checkpoints, kept in the file of the checkpoints. */
export interface Cosigned {
  /**
   * The checkpoint for which witnesses are asked. It is the same for all of them until it has the quorum or is 10 s old:
   * a log that grows fast would else have many checkpoints with one cosignature each.
   */
  readonly target: (tenant: string) => string | undefined;
  /** Adds a cosignature that was verified. */
  readonly add: (tenant: string, note: string, cosignature: NoteSignature) => void;
  /** The newest checkpoint with the quorum; where the policy needs none, the newest one. */
  readonly served: (tenant: string) => string | undefined;
  /** The newest checkpoint, with the cosignatures that it has. */
  readonly pending: (tenant: string) => string | undefined;
  /** Goes by another policy from now on: what had the old quorum is judged again, and the witnesses are asked for the newest one. */
  readonly follow: (policy: WitnessPolicy) => void;
  /** When a checkpoint of any tenant got the quorum last, in ms; undefined: not yet in this process. */
  readonly quorumAtMs: () => number | undefined;
}

interface Target {
  /** The note without cosignatures. */
  readonly bare: string;
  readonly cosignatures: readonly NoteSignature[];
  readonly sinceMs: number;
}

const targetMsMax = 10_000;

/** The cosigned checkpoints, as the file has them. */
export function createCosigned({ file, newest, clock, ...ports }: CosignedPorts): Cosigned {
  let { policy } = ports;
  const targets = new Map<string, Target>();
  const quorums = new Map<string, string>();
  let quorumAtMs: number | undefined;

  const hasQuorum = (note: string): boolean => {
    const parsed = parseNote(note);
    const keys = policy.witnesses.map(({ key }) => key);
    return parsed !== undefined && policy.isQuorum(verifyNote(parsed, keys).verified);
  };
  const quorumOf = (tenant: string): string | undefined => {
    const found = quorums.get(tenant) ?? file.cosigned(tenant);
    // The policy may be another one than at the time.
    if (found === undefined || (!quorums.has(tenant) && !hasQuorum(found))) return undefined;
    quorums.set(tenant, found);
    return found;
  };
  const targetOf = (tenant: string): Target | undefined => {
    const now = newest(tenant);
    const known = targets.get(tenant);
    if (now === undefined || known?.bare === now) return known;
    const isOpen = known !== undefined && !hasQuorum(noteOf(known)) && originOf(known.bare) === originOf(now);
    if (isOpen && clock.monotonic() - known.sinceMs < targetMsMax) return known;
    const next = { bare: now, cosignatures: [], sinceMs: clock.monotonic() };
    targets.set(tenant, next);
    return next;
  };
  const pending = (tenant: string): string | undefined => {
    const now = newest(tenant);
    const target = targets.get(tenant);
    if (now !== undefined && target?.bare === now) return noteOf(target);
    const kept = quorumOf(tenant);
    // After a restart the newest one may have its cosignatures in the file alone.
    return now !== undefined && kept?.startsWith(now) === true ? kept : now;
  };
  return {
    target: (tenant) => targetOf(tenant)?.bare,
    add: (tenant, bare, cosignature) => {
      const known = targets.get(tenant);
      if (known?.bare !== bare) return;
      const others = known.cosignatures.filter(({ name, id }) => name !== cosignature.name || id !== cosignature.id);
      const target = { ...known, cosignatures: [...others, cosignature] };
      targets.set(tenant, target);
      const note = noteOf(target);
      if (!hasQuorum(note)) return;
      // Kept before it is served.
      file.saveCosigned(tenant, note);
      quorums.set(tenant, note);
      quorumAtMs = clock.now();
    },
    served: (tenant) => {
      if (!policy.hasQuorum) return pending(tenant);
      const [found, now] = [quorumOf(tenant), newest(tenant)];
      // One of an earlier epoch is of another tree.
      return found !== undefined && now !== undefined && originOf(found) === originOf(now) ? found : undefined;
    },
    pending,
    follow: (next) => {
      policy = next;
      targets.clear();
      quorums.clear();
    },
    quorumAtMs: () => quorumAtMs,
  };
}

function noteOf({ bare, cosignatures }: Target): string {
  const { text, signatures } = parseNote(bare) as SignedNote;
  return formatNote({ text, signatures: [...signatures, ...cosignatures] });
}

/** The origin of a checkpoint, which names its epoch. */
export function originOf(note: string): string | undefined {
  return parseCheckpoint(parseNote(note)?.text ?? '')?.origin;
}
