import { formatOrigin, formatVkey } from '@countersign/audit';
import type { EventStore } from '@countersign/event-store';
import type { Clock } from '@countersign/runtime';
import { crashPoint } from '@countersign/runtime';
import { createEpochBeginning } from './accepted-contradiction.js';
import type { RecordAccepted } from './accepted-contradiction.js';
import { keyStateOf, rotateKey } from './key-rotation.js';
import type { KeyRotation, KeyState, Signed } from './key-rotation.js';
import { isSigned, toKnown } from './known-checkpoint.js';
import type { Known } from './known-checkpoint.js';
import type { LogSigner } from './log-signer.js';
import type { SharedCheckpoints, SharedState } from './shared-checkpoints.js';
import { keysOf, signTree } from './sign-tree.js';
import { newestOf, openSignedEpochs } from './signed-epochs.js';
import type { Contradiction, SignedEpochs, SignedEpochsPorts } from './signed-epochs.js';
import type { KeptKeyChange } from './sqlite/checkpoint-file.js';
import type { TenantTree } from './tenant-tree.js';

/** The dependencies of a tenant's log. */
export interface TenantLogPorts extends SignedEpochsPorts {
  /** What other notaries of the cluster signed; undefined: there is no other one. */
  readonly shared?: SharedCheckpoints | undefined;
  readonly signer: LogSigner;
  /** The log key is another one than before, on purpose. */
  readonly rotation?: KeyRotation | undefined;
  /** Where the event of a change of the key is found. */
  readonly store: Pick<EventStore, 'readStream'>;
  /** The operator accepts a log that contradicts what was signed: it goes on as the next epoch. */
  readonly acceptsContradiction: boolean;
  /** Records why the log goes on as its next epoch. Absent: the one who accepts it has recorded that. */
  readonly recordAccepted?: RecordAccepted | undefined;
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
  /** Whether at least this many events have no checkpoint yet, or the change of the log key is not signed by both keys. */
  readonly isDue: (unsignedMin: number) => boolean;
  /**
   * Compares the tree with what was signed. Returns why they contradict each other; undefined while nothing contradicts.
   * `isWhole`: the tree has every event of the log.
   */
  readonly contradiction: (isWhole: boolean) => Contradiction | undefined;
  /** Learns what other notaries signed. */
  readonly learn: () => Promise<void>;
  /** Signs a checkpoint of the tree and keeps it, unless the tree contradicts what was signed. */
  readonly sign: () => Promise<void>;
  /** Whether nothing is signed until the tree has the event that says why this epoch begins. */
  readonly isBeginning: () => boolean;
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
  /** The changes of the log key, each the proof of its event as JSON. */
  readonly keyChanges: () => readonly string[];
}

/** Other notaries may sign meanwhile. */
const triesMax = 5;

/** The log of a tenant, continued from its newest checkpoint. @throws Error when that cannot be read. */
export function openTenantLog(ports: TenantLogPorts): TenantLog {
  const { tenant, tree, shared, base, rotation, checkpoints, clock } = ports;
  const epochs = openSignedEpochs(ports);
  const beginning = createEpochBeginning(ports);
  let isFirst = true;
  let revision: number | undefined;
  let problem: string | undefined;
  let changedKey: string | undefined;
  let signedAtMs: number | undefined;
  /** The next epoch began as accepted, and is not signed yet. */
  let isBegun = false;
  /** The newest checkpoint may be one of the key before. */
  let isRotating = rotation !== undefined;

  const learn = async (): Promise<void> => {
    if (shared === undefined) return;
    const found = await shared.of(tenant);
    problem = await takeShared(ports, epochs, found, isFirst);
    isFirst = false;
    if (problem !== undefined) return;
    ({ revision } = found);
    isRotating = (await keyState()) === 'previous';
  };
  const keyState = async (): Promise<KeyState | undefined> => (isBegun ? undefined : newestKeyState(ports, epochs));
  /** A changed log key signs nothing by itself: an auditor who has the old vkey could not tell it from an attacker's. */
  const checkKey = async (): Promise<void> => {
    const state = await keyState();
    isRotating = state === 'previous';
    // In a cluster the key of the newest checkpoint was compared when that was learned.
    if (state === undefined || shared !== undefined) return;
    changedKey = state === 'other' ? changedKeyWords(tenant) : undefined;
    problem = changedKey;
  };
  const unsigned = (): number => tree.size() - (epochs.current()?.size ?? 0);
  const canSign = (): boolean =>
    problem === undefined &&
    (unsigned() > 0 || isRotating) &&
    epochs.contradiction(false) === undefined &&
    epochs.isCovered();
  /** Keeps a checkpoint where all notaries find it. Returns whether another one was first. */
  const share = async (next: Signed): Promise<boolean> => {
    if (shared === undefined || revision === undefined) return false;
    const before = revision;
    // Until it is known whether this is kept, the store is asked.
    revision = undefined;
    const keyChanges = [...checkpoints.keyChanges(tenant), ...(next.change === undefined ? [] : [next.change])];
    const state = { kept: epochs.allWith(next.known), keyChanges };
    if ((await shared.keep(tenant, before, state)).status === 'conflict') return true;
    crashPoint('notary.shared');
    keepSigned(ports, epochs, next);
    revision = before + 1;
    return false;
  };
  /** Signs once. Returns whether another notary was first. */
  const signOnce = async (): Promise<boolean> => {
    if (shared !== undefined && revision === undefined) await learn();
    if (!canSign()) return false;
    const next = await signNext(ports, epochs, isRotating);
    if (next === undefined) return false;
    crashPoint('notary.signed');
    if (shared === undefined) keepSigned(ports, epochs, next);
    else if (await share(next)) return true;
    crashPoint('notary.kept');
    ports.accepted?.delete(tenant);
    [isBegun, isRotating] = [false, false];
    signedAtMs = clock.now();
    return false;
  };
  return {
    tenant,
    tree,
    unsigned,
    isDue: (unsignedMin) => unsigned() >= unsignedMin || (isRotating && tree.size() > 0) || beginning.isWaiting(),
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
      else {
        beginning.accept(epochs, found.why);
        epochs.beginEpoch(found.why);
      }
      isBegun = true;
      [problem, changedKey] = [undefined, undefined];
      return undefined;
    },
    sign: async () => {
      await checkKey();
      await beginning.record();
      if (beginning.isWaiting()) return;
      for (let tries = 0; tries < triesMax && (await signOnce()); tries += 1);
    },
    isBeginning: beginning.isWaiting,
    isOutdated: epochs.isOutdated,
    latest: () => epochs.latest()?.note,
    newest: () => epochs.current()?.note,
    signed: () => ({ size: epochs.current()?.size ?? 0, atMs: signedAtMs }),
    vkeys: async () => vkeysOf(ports, epochs, await keyState()),
    keyChanges: () => checkpoints.keyChanges(tenant).map(({ proof }) => proof),
  };
}

function changedKeyWords(tenant: string): string {
  return `log-key-changed: the newest checkpoint of tenant "${tenant}" was signed with another log key, and nothing is signed. Put the old log key back, name it in COUNTERSIGN_LOG_KEY_PREVIOUS to replace it, or go on with the new one as the next epoch: countersign audit continue --reason TEXT`;
}

/** Learns what the notaries keep in the store. Returns why it is not believed; then nothing is learned. */
async function takeShared(
  ports: TenantLogPorts,
  epochs: SignedEpochs,
  { kept, keyChanges }: SharedState,
  isFirst: boolean,
): Promise<string | undefined> {
  const known = kept.map(toKnown);
  const newest = newestOf(known);
  const changes = unionOf(ports.checkpoints.keyChanges(ports.tenant), keyChanges);
  // Attack: a forged record of a checkpoint that nobody signed.
  const problem = newest === undefined ? undefined : await whyForeign(newest, ports, isFirst, changes);
  if (problem !== undefined) return problem;
  known.forEach(epochs.learn);
  for (const change of keyChanges) {
    const covering = epochs.all().find(({ epoch }) => epoch === change.epoch);
    if (covering !== undefined) keepChange(ports, covering, change);
  }
  return undefined;
}

/** Kept before it is served: what was signed must never be forgotten. */
function keepSigned(ports: TenantLogPorts, epochs: SignedEpochs, { known, change }: Signed): void {
  if (change !== undefined) {
    keepChange(ports, known, change);
    crashPoint('notary.key-kept');
  }
  epochs.add(known);
}

/** Keeps a change of the log key in the own file, with the newest checkpoint of its epoch. */
function keepChange({ tenant, checkpoints }: TenantLogPorts, { note }: Known, change: KeptKeyChange): void {
  const { epoch, size } = change;
  const isKept = checkpoints.keyChanges(tenant).some((one) => one.epoch === epoch && one.size === size);
  if (!isKept) checkpoints.saveKeyChange({ tenant, epoch, note }, change);
}

/** The changes that either knows, in order. */
function unionOf(own: readonly KeptKeyChange[], others: readonly KeptKeyChange[]): readonly KeptKeyChange[] {
  const isOwn = (one: KeptKeyChange): boolean =>
    own.some(({ epoch, size }) => epoch === one.epoch && size === one.size);
  const all = [...own, ...others.filter((one) => !isOwn(one))];
  return all.toSorted((one, other) => one.epoch - other.epoch || one.size - other.size);
}

/** Whose key signed the newest checkpoint. Undefined where there is nothing to go on from. */
async function newestKeyState(ports: TenantLogPorts, epochs: SignedEpochs): Promise<KeyState | undefined> {
  const newest = epochs.latest();
  if (newest === undefined || newest.base !== ports.base) return undefined;
  return keyStateOf(newest, ports, ports.checkpoints.keyChanges(ports.tenant));
}

/** The keys of the tenant, as lines: those of now, and those that a change of the key replaced. */
async function vkeysOf(
  { tenant, base, signer, rotation, checkpoints }: TenantLogPorts,
  epochs: SignedEpochs,
  state: KeyState | undefined,
): Promise<readonly string[]> {
  const current = rotation !== undefined && state === 'previous' ? rotation.previous : signer;
  const keys = await keysOf(current, formatOrigin({ base, tenant, epoch: epochs.epoch() }));
  for (const one of epochs.all().toSorted((a, b) => b.epoch - a.epoch)) {
    const ofEpoch = one.epoch === epochs.epoch() ? [] : await keysOf(current, one.origin);
    keys.push(...ofEpoch.filter((key) => isSigned(one, key)));
  }
  return [...new Set([...keys.map(formatVkey), ...(checkpoints.keyChanges(tenant).at(-1)?.vkeys ?? [])])];
}

/** Signs the tree; in a change of the log key with both keys, once the tree has the event of the change. */
async function signNext(ports: TenantLogPorts, epochs: SignedEpochs, isRotating: boolean): Promise<Signed | undefined> {
  const { tenant, tree, base, signer, rotation, store } = ports;
  if (rotation === undefined || !isRotating) return { known: await signTree(ports, epochs) };
  return rotateKey(formatOrigin({ base, tenant, epoch: epochs.epoch() }), {
    ...{ tenant, tree, signer, rotation, store },
    vkeys: () => vkeysOf(ports, epochs, 'previous'),
    signWith: (signers, size) => signTree(ports, epochs, signers, size),
  });
}

/** Why a checkpoint that the store has is not one of these notaries. `isFirst`: the origin may have been changed since. */
async function whyForeign(
  one: Known,
  ports: TenantLogPorts,
  isFirst: boolean,
  changes: readonly KeptKeyChange[],
): Promise<string | undefined> {
  const { tenant, base } = ports;
  if ((await keyStateOf(one, ports, changes)) === 'other')
    return `the newest checkpoint of tenant "${tenant}" in the event store was signed with another log key: give all notaries the same one`;
  if (one.base === base || isFirst) return undefined;
  return `another notary signs tenant "${tenant}" under the origin ${one.base}: give all notaries the same COUNTERSIGN_LOG_ORIGIN`;
}
