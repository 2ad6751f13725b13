import { verifyNote } from '../note.js';
import { formatVkey } from '../verifier-key.js';
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
  const trusted = keysOf({ keys, policy }).log;
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

/**
 * The keys that may vouch for a checkpoint, with signatures that cannot be checked here: a Node without ML-DSA, or a type of key that
 * is not known.
 */
export function uncheckedKeys(anchor: Anchor, { keys, policy, changes = [] }: Trust): readonly VerifierKey[] {
  const { log, witnesses } = keysOf({ keys, policy });
  const all = [...keysFor(anchor, log, changes), ...witnesses];
  const { unknown } = verifyNote(anchor.note, all);
  return all.filter((key) => unknown.some(({ name, id }) => name === key.name && id === key.id));
}

/** Returns whether only signatures that cannot be checked here are missing, so that the checkpoint is neither proven nor refuted. */
export function isUndecided(anchor: Anchor, trust: Trust): boolean {
  const { log, witnesses } = keysOf(trust);
  const applicable = keysFor(anchor, log, trust.changes ?? []);
  const unchecked = uncheckedKeys(anchor, trust);
  const { verified, refuted } = verifyNote(anchor.note, [...applicable, ...witnesses]);
  if (unchecked.length === 0 || refuted.length > 0) return false;
  const counting = [...verified, ...unchecked];
  const isByLog = counting.some((key) => key.name === anchor.origin && applicable.includes(key));
  return isByLog && (trust.policy?.isQuorum(counting.filter((key) => witnesses.includes(key))) ?? true);
}

/** What is not known because of such signatures, as sentences. */
export function uncheckedSentences(anchors: readonly Anchor[], trust: Trust): readonly string[] {
  const names = new Set(
    anchors.flatMap((anchor) => uncheckedKeys(anchor, trust)).map(({ name, id }) => `${name}+${id}`),
  );
  if (names.size === 0) return [];
  return [`the signatures of ${[...names].join(', ')}: this Node cannot check keys of that type`];
}

/**
 * What is not known where only a key vouches that was not given, but that an older key signed, as sentences. Attack: the old key is
 * stolen after it was replaced. It signs another history, in which it was replaced by a key of the thief.
 */
export function passedOnSentences(anchors: readonly Anchor[], trust: Trust): readonly string[] {
  const { log } = keysOf(trust);
  const given = new Set(log.map(formatVkey));
  const isPassedOn = (anchor: Anchor): boolean => {
    const { verified } = verifyNote(anchor.note, keysFor(anchor, log, trust.changes ?? []));
    return verified.length > 0 && !verified.some((key) => given.has(formatVkey(key)));
  };
  const newest = anchors.toSorted((one, other) => other.size - one.size)[0];
  return newest === undefined || !isPassedOn(newest) ? [] : [passedOn];
}

const passedOn =
  'who changed the log key: the key that signed the checkpoint is not among yours, and a person who has your older key could name another one. Compare it with the operator, and keep it too';

function keysOf({ keys, policy }: Trust) {
  return {
    log: [...keys, ...(policy?.logs ?? []).map(({ key }) => key)],
    witnesses: (policy?.witnesses ?? []).map(({ key }) => key),
  };
}

/** Returns whether there is anything that could vouch. */
export function hasTrust({ keys, policy }: Trust): boolean {
  return keys.length > 0 || (policy?.logs.length ?? 0) > 0;
}
