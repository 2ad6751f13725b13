import { formatCheckpoint, formatNote, formatOrigin, formatVkey, isSameHash, verifyNote } from '@countersign/audit';
import type { SignedNote } from '@countersign/audit';
import type { Clock, Log } from '@countersign/runtime';
import { crashPoint } from '@countersign/runtime';
import { isSigned, toKnown } from './known-checkpoint.js';
import type { Known } from './known-checkpoint.js';
import type { LogSigner } from './log-signer.js';
import type { SharedCheckpoints } from './shared-checkpoints.js';
import type { CheckpointFile } from './sqlite/checkpoint-file.js';
import type { TenantTree } from './tenant-tree.js';

/** The dependencies of a tenant's log. */
export interface TenantLogPorts {
  readonly tenant: string;
  readonly tree: TenantTree;
  readonly checkpoints: CheckpointFile;
  /** What other notaries of the cluster signed; undefined: there is no other one. */
  readonly shared?: SharedCheckpoints | undefined;
  /** The origin of the installation. */
  readonly base: string;
  readonly signer: LogSigner;
  /** The operator accepts a log that contradicts what was signed: it goes on as the next epoch. */
  readonly acceptsContradiction: boolean;
  readonly clock: Clock;
  readonly log: Log;
}

/** Why a log contradicts what was signed. */
export interface Contradiction {
  readonly why: string;
  /** The log ends too early. A store that lags behind ends later in a moment. */
  readonly isShort: boolean;
}

/** The tree of a tenant and its checkpoints. */
export interface TenantLog {
  readonly tenant: string;
  readonly tree: TenantTree;
  /** How many events no checkpoint of this epoch covers. */
  readonly unsigned: () => number;
  /**
   * Compares the tree with what was signed. Returns why they contradict each other; undefined while nothing contradicts.
   * `isWhole`: the tree has every event of the log.
   */
  readonly contradiction: (isWhole: boolean) => Contradiction | undefined;
  /** Learns what other notaries signed. */
  readonly learn: () => Promise<void>;
  /** Signs a checkpoint of the tree and keeps it, unless the tree contradicts what was signed. */
  readonly sign: () => Promise<void>;
  /** Why nothing can be signed, although nothing contradicts; undefined: it can. */
  readonly problem: () => string | undefined;
  /** The newest signed checkpoint of this epoch. */
  readonly newest: () => string | undefined;
  /** How many events it covers, and when it was signed in ms of this process; undefined: not by this process. */
  readonly signed: () => { readonly size: number; readonly atMs: number | undefined };
  /** The keys of this epoch and of those before it, the latest first, each as a line. */
  readonly vkeys: () => Promise<readonly string[]>;
}

/** Other notaries may sign meanwhile. */
const triesMax = 5;

/** The log of a tenant, continued from its newest checkpoint. @throws Error when that cannot be read. */
export function openTenantLog(ports: TenantLogPorts): TenantLog {
  const { tenant, tree, checkpoints, shared, base, signer, clock, log } = ports;
  const epochs = new Map(checkpoints.ofTenant(tenant).map((kept) => [kept.epoch, toKnown(kept)]));
  let [epoch, isOtherOrigin, isFirst, isWarned] = [1, false, true, false];
  let current: Known | undefined;
  let uncompared: readonly Known[] = [];
  let revision: number | undefined;
  let problem: string | undefined;
  let signedAtMs: number | undefined;

  const latest = (): Known | undefined => [...epochs.values()].reduce<Known | undefined>(later, undefined);
  /** Goes on from the newest checkpoint that is known. */
  const goOn = (): void => {
    const newest = latest();
    if (newest === undefined) return;
    isOtherOrigin = newest.base !== base;
    epoch = newest.epoch + (isOtherOrigin ? 1 : 0);
    current = isOtherOrigin ? undefined : newest;
    uncompared = [newest];
  };
  goOn();

  const contradictionOf = (isWhole: boolean): Contradiction | undefined => {
    const differs = uncompared.find(({ size, root }) => size <= tree.size() && !isSameHash(tree.rootAt(size), root));
    if (differs !== undefined) {
      const why = `the first ${String(differs.size)} events of tenant "${tenant}" are not those of the newest signed checkpoint`;
      return { why, isShort: false };
    }
    uncompared = uncompared.filter(({ size }) => size > tree.size());
    const [longer] = uncompared;
    if (longer === undefined || !isWhole) return undefined;
    const why = `tenant "${tenant}" has ${String(tree.size())} events, and the newest signed checkpoint covers ${String(longer.size)}`;
    return { why, isShort: true };
  };
  const beginEpoch = (why: string): void => {
    epoch += isOtherOrigin ? 0 : 1;
    [uncompared, current] = [[], undefined];
    log.warn({ tenant, epoch, why }, 'the log goes on as the next epoch, as accepted');
  };
  const whyForeign = async (one: Known): Promise<string | undefined> => {
    if (!isSigned(one, await signer.keyOf(one.origin)))
      return `the newest checkpoint of tenant "${tenant}" in the event store was signed with another log key: give all notaries the same one`;
    if (one.base === base || isFirst) return undefined;
    return `another notary signs tenant "${tenant}" under the origin ${one.base}: give all notaries the same COUNTERSIGN_LOG_ORIGIN`;
  };
  const learnOne = (one: Known): void => {
    const own = epochs.get(one.epoch);
    if (own === undefined || one.size > own.size) {
      checkpoints.save({ tenant, epoch: one.epoch, note: one.note });
      epochs.set(one.epoch, one);
      if (one === latest()) goOn();
    } else if (one.epoch === epoch && one.size <= own.size && one.note !== own.note) uncompared = [...uncompared, one];
  };
  const learn = async (): Promise<void> => {
    if (shared === undefined) return;
    const found = await shared.of(tenant);
    const known = found.kept.map(toKnown);
    const newest = known.reduce<Known | undefined>(later, undefined);
    // Attack: a forged record of a checkpoint that nobody signed.
    problem = newest === undefined ? undefined : await whyForeign(newest);
    isFirst = false;
    if (problem !== undefined) return;
    known.forEach(learnOne);
    ({ revision } = found);
  };
  /** Returns the signed text. @throws Error when the signature is not one of its key */
  const signText = async (origin: string, text: string): Promise<SignedNote> => {
    const [key, signatures] = [await signer.keyOf(origin), await signer.sign(origin, text)];
    const note = { text, signatures };
    if (verifyNote(note, [key]).verified.length === 1) return note;
    throw new Error(`the signature under ${origin} is not one of its key: nothing is signed`);
  };
  const warnOfOtherKey = async (): Promise<void> => {
    const newest = isWarned || shared !== undefined ? undefined : latest();
    isWarned = true;
    if (newest === undefined || isSigned(newest, await signer.keyOf(newest.origin))) return;
    const { origin } = newest;
    log.warn({ origin }, 'the newest checkpoint was signed with another log key: auditors need the new vkey');
  };
  const unsigned = (): number => tree.size() - (current?.size ?? 0);
  const canSign = (): boolean => problem === undefined && unsigned() > 0 && contradictionOf(false) === undefined;
  /** Signs once. Returns whether another notary was first. */
  const signOnce = async (): Promise<boolean> => {
    if (shared !== undefined && revision === undefined) await learn();
    if (!canSign() || uncompared.length > 0) return false;
    const [size, signedEpoch] = [tree.size(), epoch];
    const origin = formatOrigin({ base, tenant, epoch });
    const checkpoint = { origin, size, root: tree.rootAt(size), extensions: [] };
    const note = formatNote(await signText(origin, formatCheckpoint(checkpoint)));
    crashPoint('notary.signed');
    const known = { ...checkpoint, epoch: signedEpoch, base, note };
    if (shared !== undefined && revision !== undefined) {
      const all = [...new Map([...epochs, [signedEpoch, known]]).values()].map((one) => ({ tenant, ...one }));
      const before = revision;
      // Until it is known whether this is kept, the store is asked.
      revision = undefined;
      if ((await shared.keep(tenant, before, all)).status === 'conflict') return true;
      crashPoint('notary.shared');
      // Kept before it is served: what was signed must never be forgotten.
      checkpoints.save({ tenant, epoch: signedEpoch, note });
      revision = before + 1;
    } else checkpoints.save({ tenant, epoch: signedEpoch, note });
    crashPoint('notary.kept');
    epochs.set(signedEpoch, known);
    [current, signedAtMs, isOtherOrigin] = [known, clock.now(), false];
    return false;
  };
  return {
    tenant,
    tree,
    unsigned,
    learn,
    problem: () => problem,
    contradiction: (isWhole) => {
      const found = contradictionOf(isWhole);
      if (found === undefined || !ports.acceptsContradiction) return found;
      beginEpoch(found.why);
      return undefined;
    },
    sign: async () => {
      await warnOfOtherKey();
      for (let tries = 0; tries < triesMax && (await signOnce()); tries += 1);
    },
    newest: () => current?.note,
    signed: () => ({ size: current?.size ?? 0, atMs: signedAtMs }),
    vkeys: async () => {
      const keys = [await signer.keyOf(formatOrigin({ base, tenant, epoch }))];
      for (const one of [...epochs.values()].toSorted((a, b) => b.epoch - a.epoch)) {
        const key = await signer.keyOf(one.origin);
        if (one.epoch !== epoch && isSigned(one, key)) keys.push(key);
      }
      return keys.map(formatVkey);
    },
  };
}

/** The newer of two checkpoints. */
function later(one: Known | undefined, other: Known): Known {
  if (one === undefined || other.epoch > one.epoch) return other;
  return other.epoch === one.epoch && other.size > one.size ? other : one;
}
