import { formatCheckpoint, formatNote, formatOrigin, formatVkey, verifyNote } from '@countersign/audit';
import type { Clock } from '@countersign/runtime';
import { crashPoint } from '@countersign/runtime';
import { isSigned, toKnown } from './known-checkpoint.js';
import type { Known } from './known-checkpoint.js';
import type { LogSigner } from './log-signer.js';
import type { SharedCheckpoints } from './shared-checkpoints.js';
import { newestOf, openSignedEpochs } from './signed-epochs.js';
import type { Contradiction, SignedEpochs, SignedEpochsPorts } from './signed-epochs.js';
import type { TenantTree } from './tenant-tree.js';

/** The dependencies of a tenant's log. */
export interface TenantLogPorts extends SignedEpochsPorts {
  /** What other notaries of the cluster signed; undefined: there is no other one. */
  readonly shared?: SharedCheckpoints | undefined;
  readonly signer: LogSigner;
  /** The operator accepts a log that contradicts what was signed: it goes on as the next epoch. */
  readonly acceptsContradiction: boolean;
  /** The tenants whose log goes on as the next epoch until that is signed, and what contradicts it. */
  readonly accepted?: Map<string, string> | undefined;
  readonly clock: Clock;
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
  /** Why nothing is signed: the newest checkpoint was signed with another log key. Undefined: it was not. */
  readonly changedKey: () => string | undefined;
  /** Learns of a checkpoint that was signed with this log's key and is kept elsewhere. */
  readonly hear: (note: string) => void;
  /** Whether another notary went on as a later epoch. */
  readonly isOutdated: () => boolean;
  /** The newest checkpoint of all epochs. */
  readonly latest: () => string | undefined;
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
  const { tenant, tree, shared, base, signer, clock } = ports;
  const epochs = openSignedEpochs(ports);
  let isFirst = true;
  let revision: number | undefined;
  let problem: string | undefined;
  let changedKey: string | undefined;
  let signedAtMs: number | undefined;
  /** The next epoch began as accepted, and is not signed yet. */
  let isBegun = false;

  const learn = async (): Promise<void> => {
    if (shared === undefined) return;
    const found = await shared.of(tenant);
    const known = found.kept.map(toKnown);
    const newest = newestOf(known);
    // Attack: a forged record of a checkpoint that nobody signed.
    problem = newest === undefined ? undefined : await whyForeign(newest, ports, isFirst);
    isFirst = false;
    if (problem !== undefined) return;
    known.forEach(epochs.learn);
    ({ revision } = found);
  };
  /** A changed log key signs nothing by itself: an auditor who has the old vkey could not tell it from an attacker's. */
  const checkKey = async (): Promise<void> => {
    const newest = epochs.latest();
    if (shared !== undefined || isBegun || newest === undefined || newest.base !== base) return;
    const isOurs = isSigned(newest, await signer.keyOf(newest.origin));
    changedKey = isOurs ? undefined : changedKeyWords(tenant);
    problem = changedKey;
  };
  const unsigned = (): number => tree.size() - (epochs.current()?.size ?? 0);
  const canSign = (): boolean =>
    problem === undefined && unsigned() > 0 && epochs.contradiction(false) === undefined && epochs.isCovered();
  /** Keeps a checkpoint where all notaries find it. Returns whether another one was first. */
  const share = async (known: Known): Promise<boolean> => {
    if (shared === undefined || revision === undefined) return false;
    const before = revision;
    // Until it is known whether this is kept, the store is asked.
    revision = undefined;
    if ((await shared.keep(tenant, before, epochs.allWith(known))).status === 'conflict') return true;
    crashPoint('notary.shared');
    // Kept before it is served: what was signed must never be forgotten.
    epochs.add(known);
    revision = before + 1;
    return false;
  };
  /** Signs once. Returns whether another notary was first. */
  const signOnce = async (): Promise<boolean> => {
    if (shared !== undefined && revision === undefined) await learn();
    if (!canSign()) return false;
    const known = await signTree(ports, epochs);
    crashPoint('notary.signed');
    if (shared === undefined) epochs.add(known);
    else if (await share(known)) return true;
    crashPoint('notary.kept');
    ports.accepted?.delete(tenant);
    isBegun = false;
    signedAtMs = clock.now();
    return false;
  };
  return {
    tenant,
    tree,
    unsigned,
    learn,
    problem: () => problem,
    changedKey: () => changedKey,
    hear: (note) => {
      const heard = toKnown({ tenant, epoch: epochs.epoch(), note });
      // One of an earlier epoch says nothing about this one.
      if (heard.origin === formatOrigin({ base, tenant, epoch: heard.epoch })) epochs.learn(heard);
    },
    contradiction: (isWhole) => {
      const found = epochs.contradiction(isWhole);
      // What only a witness or a sink found contradicts nothing here.
      const why = isBegun ? undefined : ports.accepted?.get(tenant);
      if (why !== undefined) epochs.beginEpoch(why);
      else if (found === undefined || !ports.acceptsContradiction) return found;
      else epochs.beginEpoch(found.why);
      isBegun = true;
      [problem, changedKey] = [undefined, undefined];
      return undefined;
    },
    sign: async () => {
      await checkKey();
      for (let tries = 0; tries < triesMax && (await signOnce()); tries += 1);
    },
    isOutdated: epochs.isOutdated,
    latest: () => epochs.latest()?.note,
    newest: () => epochs.current()?.note,
    signed: () => ({ size: epochs.current()?.size ?? 0, atMs: signedAtMs }),
    vkeys: async () => {
      const keys = [await signer.keyOf(formatOrigin({ base, tenant, epoch: epochs.epoch() }))];
      for (const one of epochs.all().toSorted((a, b) => b.epoch - a.epoch)) {
        const key = await signer.keyOf(one.origin);
        if (one.epoch !== epochs.epoch() && isSigned(one, key)) keys.push(key);
      }
      return keys.map(formatVkey);
    },
  };
}

function changedKeyWords(tenant: string): string {
  return `log-key-changed: the newest checkpoint of tenant "${tenant}" was signed with another log key, and nothing is signed. Put the old log key back, or go on with the new one as the next epoch: countersign audit continue --reason TEXT`;
}

/** Signs the tree as it is. @throws Error when the signature is not one of its key */
async function signTree({ tenant, tree, base, signer }: TenantLogPorts, epochs: SignedEpochs): Promise<Known> {
  const [size, epoch] = [tree.size(), epochs.epoch()];
  const origin = formatOrigin({ base, tenant, epoch });
  const checkpoint = { origin, size, root: tree.rootAt(size), extensions: [] };
  const text = formatCheckpoint(checkpoint);
  const [key, signatures] = [await signer.keyOf(origin), await signer.sign(origin, text)];
  const note = { text, signatures };
  if (verifyNote(note, [key]).verified.length !== 1)
    throw new Error(`the signature under ${origin} is not one of its key: nothing is signed`);
  return { ...checkpoint, epoch, base, note: formatNote(note) };
}

/** Why a checkpoint that the store has is not one of these notaries. `isFirst`: the origin may have been changed since. */
async function whyForeign(
  one: Known,
  { tenant, signer, base }: TenantLogPorts,
  isFirst: boolean,
): Promise<string | undefined> {
  if (!isSigned(one, await signer.keyOf(one.origin)))
    return `the newest checkpoint of tenant "${tenant}" in the event store was signed with another log key: give all notaries the same one`;
  if (one.base === base || isFirst) return undefined;
  return `another notary signs tenant "${tenant}" under the origin ${one.base}: give all notaries the same COUNTERSIGN_LOG_ORIGIN`;
}
