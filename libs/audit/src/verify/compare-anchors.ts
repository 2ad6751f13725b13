import { isSameHash } from '../hashes.js';
import type { Hash } from '../hashes.js';
import { createGrowingTree } from '../tree.js';
import type { Anchor } from './anchors.js';
import type { CheckName, Finding } from './findings.js';
import { hasTrust, isUndecided, passedOnSentences, uncheckedSentences, whyNoQuorum, whyNotByLog } from './trust.js';
import type { Trust } from './trust.js';

/** A root of the tree as it was computed from the events. */
export interface ReachedRoot {
  readonly size: number;
  readonly root: Hash;
}

/** Returns whether the log has this root. Attack: a change of the key that was signed over another log. */
export function isReached({ size, root }: ReachedRoot, reached: readonly ReachedRoot[]): boolean {
  return reached.some((one) => one.size === size && isSameHash(one.root, root));
}

/** The computed tree beside the checkpoints that it should agree with. */
export interface ComparedTree extends Trust {
  readonly since: readonly Anchor[];
  /** The checkpoints of its epoch that are kept with it: the newest one, and the newest one with cosignatures. */
  readonly kept: readonly Anchor[];
  /** The roots at the sizes of the checkpoints, as far as the log reaches. */
  readonly reached: readonly ReachedRoot[];
  readonly size: number;
  /** The first index at which the stored tree has another leaf; -1: none. */
  readonly firstDifference: number;
  readonly storedLeaf: ((index: number) => Hash | undefined) | undefined;
}

/** What the checkpoints say about the log. */
export interface Compared {
  readonly findings: readonly Finding[];
  readonly unproven: readonly string[];
  /** A key that is trusted vouches for the log up to a checkpoint, and nothing contradicts one. */
  readonly isVouched: boolean;
  /** How many events such a key vouches for. */
  readonly proven: number;
}

/** A checkpoint, and the check that it belongs to. */
interface Named {
  readonly check: 'since' | 'tree';
  readonly anchor: Anchor;
}

/** The checkpoints, the smallest first. */
function namedOf({ since, kept }: ComparedTree): readonly Named[] {
  const named = (check: Named['check']) => (anchor: Anchor) => ({ check, anchor });
  return [...since.map(named('since')), ...kept.map(named('tree'))].toSorted(
    (one, other) => one.anchor.size - other.anchor.size,
  );
}

/** How far checkpoints agree with the log. */
interface Agreed {
  /** The size of the largest one that the auditor kept. */
  readonly proven: number;
  /** The size of the largest one that a trusted key vouches for; -1: none. */
  readonly vouched: number;
  /** Why the largest one without a quorum of witnesses does not count; undefined: no such one, or it cannot be checked here. */
  readonly noQuorum: string | undefined;
}

/** Compares the computed tree with the checkpoints that the auditor kept and with those of the log. */
export function compareAnchors(tree: ComparedTree): Compared {
  const findings: Finding[] = [];
  let agreed: Agreed = { proven: 0, vouched: -1, noQuorum: undefined };
  for (const named of namedOf(tree)) {
    const found = compareAnchor(named, tree, agreed);
    findings.push(...found.findings);
    agreed = found.agreed;
  }
  if (findings.length === 0 && tree.firstDifference !== -1) {
    findings.push(about('tree', tree.firstDifference, 'the tree that is kept with the log has another leaf here'));
  }
  const { vouched, noQuorum } = agreed;
  if (findings.length === 0 && vouched === -1 && noQuorum !== undefined) {
    findings.push(about('signature', 0, `no checkpoint has the cosignatures of the policy: ${noQuorum}`));
  }
  const isVouched = findings.length === 0 && isAnchored(tree.size, vouched);
  return { findings, unproven: unprovenOf(tree, vouched), isVouched, proven: Math.max(0, vouched) };
}

/** Attack: an honest checkpoint from before the first event is put beside a log that somebody wrote since. */
function isAnchored(size: number, vouched: number): boolean {
  return vouched > 0 || (vouched === 0 && size === 0);
}

function compareAnchor({ check, anchor }: Named, tree: ComparedTree, before: Agreed) {
  const { unsigned, noQuorum, isVouched } = judgeSignatures(anchor, tree);
  const forged = unsigned === undefined ? [] : [about('signature', 0, `${nameOf(check)}: ${unsigned}`)];
  const contradiction = contradictionOf(check, anchor, tree, before.proven);
  if (contradiction !== undefined) return { findings: [...forged, contradiction], agreed: before };
  const agreed: Agreed = {
    // Attack: the owner of the log key signs a rewritten log. Only what the auditor kept narrows down where it was changed.
    proven: check === 'since' ? anchor.size : before.proven,
    vouched: isVouched ? anchor.size : before.vouched,
    noQuorum: noQuorum ?? before.noQuorum,
  };
  return { findings: forged, agreed };
}

/** What is wrong with the signatures of a checkpoint, and whether something that is trusted vouches for it. */
function judgeSignatures(anchor: Anchor, trust: Trust) {
  const isTrusting = hasTrust(trust);
  const unsigned = isTrusting ? whyNotByLog(anchor, trust) : undefined;
  const noQuorum = whyNoQuorum(anchor, trust);
  const isVouched = isTrusting && unsigned === undefined && noQuorum === undefined;
  const isOpen = !isVouched && isUndecided(anchor, trust);
  return isOpen ? { unsigned: undefined, noQuorum: undefined, isVouched } : { unsigned, noQuorum, isVouched };
}

function contradictionOf(
  check: 'since' | 'tree',
  anchor: Anchor,
  tree: ComparedTree,
  proven: number,
): Finding | undefined {
  const { reached, size } = tree;
  const root = reached.find((one) => one.size === anchor.size)?.root;
  if (root !== undefined && isSameHash(root, anchor.root)) return undefined;
  const detail =
    anchor.size > size
      ? `the log ends after ${String(size)} events, and ${nameOf(check)} is of ${String(anchor.size)} (an older or incomplete copy, or its end was removed)`
      : `the first ${String(anchor.size)} events are not those of ${nameOf(check)}`;
  const exact = firstOf(anchor, tree);
  if (exact !== undefined) return about(check, exact, `${detail}: this is the first that differs`);
  const words = `${detail}; which one was changed is not known, and no index from this one on can be excluded`;
  return about(check, proven, words);
}

/**
 * The first event that was changed, where the tree that is kept with the log is the one of the checkpoint. Attack: the
 * stored tree is rewritten too. Then it has another root, and is no help.
 */
function firstOf(anchor: Anchor, { firstDifference, storedLeaf, size }: ComparedTree): number | undefined {
  if (storedLeaf === undefined) return undefined;
  const stored = createGrowingTree();
  for (let index = 0; index < anchor.size; index += 1) {
    const leaf = storedLeaf(index);
    if (leaf === undefined) return undefined;
    stored.append(leaf);
  }
  if (!isSameHash(stored.root(), anchor.root)) return undefined;
  return firstDifference === -1 ? size : firstDifference;
}

function unprovenOf(tree: ComparedTree, vouched: number): readonly string[] {
  const { since, kept, size } = tree;
  if (since.length === 0 && kept.length === 0) {
    return ['the whole log: there is no checkpoint to compare it with (--since)'];
  }
  if (!hasTrust(tree)) return ['the whole log: no key was given (--vkey)'];
  const after = size - Math.max(0, vouched);
  const last = after > 0 && vouched !== -1 ? [`the last ${String(after)} events: they came after the checkpoint`] : [];
  const anchors = [...since, ...kept];
  return [...last, ...uncheckedSentences(anchors, tree), ...passedOnSentences(anchors, tree)];
}

function nameOf(check: 'since' | 'tree'): string {
  return check === 'since' ? 'the checkpoint that was kept' : 'the newest checkpoint of the log';
}

function about(check: CheckName, index: number, detail: string): Finding {
  return { check, ok: false, index, eventId: null, stream: null, detail };
}
