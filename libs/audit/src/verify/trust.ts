import { verifyNote } from '../note.js';
import type { VerifierKey } from '../verifier-key.js';
import type { WitnessPolicy } from '../witness-policy.js';
import { whyNotSigned } from './anchors.js';
import type { Anchor } from './anchors.js';
import { keysFor } from './key-changes.js';
import type { KeyChange } from './key-changes.js';

/** Who vouches for a checkpoint: keys of the log, and the witnesses of a policy. */
export interface Trust {
  readonly keys: readonly VerifierKey[];
  /** Absent: no witness is needed. */
  readonly policy?: WitnessPolicy | undefined;
  /** Changes of the log key, each verified. They say for which checkpoints a key counts. Absent: there is none. */
  readonly changes?: readonly KeyChange[] | undefined;
}

/** Why no key of the log that is trusted has signed a checkpoint; undefined: one has. */
export function whyNotByLog(anchor: Anchor, { keys, policy, changes = [] }: Trust): string | undefined {
  const trusted = [...keys, ...(policy?.logs ?? []).map(({ key }) => key)];
  const why = whyNotSigned(anchor, keysFor(anchor, trusted, changes));
  if (why === undefined || whyNotSigned(anchor, trusted) !== undefined) return why;
  return 'it is signed by a key that was replaced before: since then only the new key counts';
}

/** Why the witnesses of the policy do not vouch for a checkpoint; undefined: they do, or there is no policy. */
export function whyNoQuorum(anchor: Anchor, { policy }: Trust): string | undefined {
  if (policy === undefined) return undefined;
  const witnesses = policy.witnesses.map(({ key }) => key);
  const { verified, refuted } = verifyNote(anchor.note, witnesses);
  if (refuted.length > 0) {
    return `it has a cosignature under the name of ${refuted[0]?.name ?? ''} that is not of its key`;
  }
  if (policy.isQuorum(verified)) return undefined;
  const names = verified.length === 0 ? 'none' : verified.map(({ name }) => name).join(', ');
  return `its witnesses are no quorum of the policy: ${names} cosigned it`;
}

/** Returns whether there is anything that could vouch. */
export function hasTrust({ keys, policy }: Trust): boolean {
  return keys.length > 0 || (policy?.logs.length ?? 0) > 0;
}
