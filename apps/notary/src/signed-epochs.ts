import { isSameHash } from '@countersign/audit';
import type { Log } from '@countersign/runtime';
import { toKnown } from './known-checkpoint.js';
import type { Known } from './known-checkpoint.js';
import type { CheckpointFile, KeptCheckpoint } from './sqlite/checkpoint-file.js';
import type { TenantTree } from './tenant-tree.js';

/** What contradicts the log of a tenant; without a tenant: the whole log. */
export interface Finding {
  readonly tenant?: string;
  readonly why: string;
}

/** Why a log contradicts what was signed. */
export interface Contradiction extends Finding {
  /** The log ends too early. A store that lags behind ends later in a moment. */
  readonly isShort: boolean;
}

/** The dependencies of what is known to be signed. */
export interface SignedEpochsPorts {
  readonly tenant: string;
  readonly tree: TenantTree;
  readonly checkpoints: CheckpointFile;
  /** The origin of the installation. */
  readonly base: string;
  readonly log: Log;
}

/** What was signed of a tenant's log, in each epoch, and how it compares with the tree. */
export interface SignedEpochs {
  /** The epoch in which the next checkpoint is signed. */
  readonly epoch: () => number;
  /** The newest checkpoint of this epoch. */
  readonly current: () => Known | undefined;
  /** The newest checkpoint of all epochs. */
  readonly latest: () => Known | undefined;
  /** The newest checkpoint of each epoch. */
  readonly all: () => readonly Known[];
  /** The same with one more. */
  readonly allWith: (known: Known) => readonly KeptCheckpoint[];
  /** Adds one that was signed by this notary and is kept. */
  readonly add: (known: Known) => void;
  /** Adds one that another notary signed. */
  readonly learn: (known: Known) => void;
  /** `isWhole`: the tree has every event of the log. */
  readonly contradiction: (isWhole: boolean) => Contradiction | undefined;
  /** Whether another notary went on as a later epoch, so that the tree may be of a log that is no more. */
  readonly isOutdated: () => boolean;
  /** Whether all that was signed in this epoch is in the tree. */
  readonly isCovered: () => boolean;
  /** Goes on as the next epoch, although the tree contradicts what was signed. */
  readonly beginEpoch: (why: string) => void;
}

/** What was signed, as the file has it. @throws Error when it cannot be read */
export function openSignedEpochs({ tenant, tree, checkpoints, base, log }: SignedEpochsPorts): SignedEpochs {
  const epochs = new Map(checkpoints.ofTenant(tenant).map((kept) => [kept.epoch, toKnown(kept)]));
  let [epoch, isOtherOrigin, isOutdated] = [1, false, false];
  let current: Known | undefined;
  let uncompared: readonly Known[] = [];

  const latest = (): Known | undefined => newestOf([...epochs.values()]);
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
  return {
    epoch: () => epoch,
    current: () => current,
    latest,
    all: () => [...epochs.values()],
    allWith: (known) =>
      [...new Map([...epochs, [known.epoch, known]]).values()].map((one) => ({
        ...{ tenant, epoch: one.epoch, note: one.note },
      })),
    add: (known) => {
      checkpoints.save({ tenant, epoch: known.epoch, note: known.note });
      epochs.set(known.epoch, known);
      [current, isOtherOrigin] = [known, false];
    },
    learn: (known) => {
      const own = epochs.get(known.epoch);
      if (own === undefined || known.size > own.size) {
        checkpoints.save({ tenant, epoch: known.epoch, note: known.note });
        isOutdated ||= epochs.size > 0 && known.epoch > (latest()?.epoch ?? 0);
        epochs.set(known.epoch, known);
        if (known === latest()) goOn();
      } else if (known.epoch === epoch && known.note !== own.note) uncompared = [...uncompared, known];
    },
    contradiction: (isWhole) => {
      const differs = uncompared.find(({ size, root }) => size <= tree.size() && !isSameHash(tree.rootAt(size), root));
      if (differs !== undefined) {
        const why = `the first ${String(differs.size)} events of tenant "${tenant}" are not those of the newest signed checkpoint`;
        return { tenant, why, isShort: false };
      }
      uncompared = uncompared.filter(({ size }) => size > tree.size());
      const [longer] = uncompared;
      if (longer === undefined || !isWhole) return undefined;
      const why = `tenant "${tenant}" has ${String(tree.size())} events, and the newest signed checkpoint covers ${String(longer.size)}`;
      return { tenant, why, isShort: true };
    },
    isOutdated: () => isOutdated,
    isCovered: () => uncompared.length === 0,
    beginEpoch: (why) => {
      epoch += isOtherOrigin ? 0 : 1;
      [uncompared, current] = [[], undefined];
      log.warn({ tenant, epoch, why }, 'the log goes on as the next epoch, as accepted');
    },
  };
}

/** The newest of some checkpoints: of the latest epoch, and there the largest. */
export function newestOf(all: readonly Known[]): Known | undefined {
  return all.toSorted((one, other) => other.epoch - one.epoch || other.size - one.size)[0];
}
