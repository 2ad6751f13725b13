import { proveStream } from './proven-events.js';
import type { ProvenStream } from './proven-events.js';
import type { SignedEpochs } from './signed-epochs.js';

/** What the operator accepted of a tenant's log when the process started. */
export interface AcceptedContradiction {
  /** The newest checkpoint of the epoch that ends, a signed note. */
  readonly checkpoint: string;
  /** How the log contradicts it, in words. */
  readonly why: string;
}

/** Records it in the tenant's log, unless that is done. Resolves to where the event is. @throws as the store */
export type RecordAccepted = (
  tenant: string,
  accepted: AcceptedContradiction,
) => Promise<{ readonly stream: string; readonly revision: number }>;

/** The dependencies of an epoch that begins with the event that says why. */
export interface BeginningEpoch extends Omit<ProvenStream, 'stream' | 'size'> {
  readonly recordAccepted?: RecordAccepted | undefined;
}

/** The beginning of a tenant's next epoch, whose tree must have the event that says why. */
export interface EpochBeginning {
  /** The operator accepted at the start that the log contradicts what was signed. */
  readonly accept: (epochs: Pick<SignedEpochs, 'latest'>, why: string) => void;
  /** True while the event is not recorded, or not yet in the tree. */
  readonly isWaiting: () => boolean;
  /** Records the event, and finds out whether the tree has it. @throws as the store */
  readonly record: () => Promise<void>;
}

/** No epoch begins. */
export function createEpochBeginning({ recordAccepted, ...log }: BeginningEpoch): EpochBeginning {
  let waiting: AcceptedContradiction | undefined;
  return {
    accept: (epochs, why) => {
      const checkpoint = epochs.latest()?.note;
      if (recordAccepted !== undefined && checkpoint !== undefined) waiting = { checkpoint, why };
    },
    isWaiting: () => waiting !== undefined,
    record: async () => {
      if (recordAccepted === undefined || waiting === undefined) return;
      const { stream, revision } = await recordAccepted(log.tenant, waiting);
      const taken = await proveStream({ ...log, stream, size: log.tree.size() });
      if (taken[revision] !== undefined) waiting = undefined;
    },
  };
}
