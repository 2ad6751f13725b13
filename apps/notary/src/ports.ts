import type { EventStore } from '@countersign/event-store';
import type { Clock, Log } from '@countersign/runtime';
import type { KeyRotation } from './key-rotation.js';
import type { Turns } from './lead.js';
import type { LogSigner } from './log-signer.js';
import type { SharedCheckpoints } from './shared-checkpoints.js';
import type { RecordAccepted } from './accepted-contradiction.js';
import type { CheckpointFile } from './sqlite/checkpoint-file.js';
import type { TreeFile } from './sqlite/tree-file.js';

/** The dependencies of the notary. */
export interface NotaryPorts {
  /** The log as it is stored, with its sensitive values sealed. */
  readonly store: Pick<EventStore, 'subscribe' | 'readAll' | 'readStream' | 'head'>;
  readonly trees: TreeFile;
  readonly checkpoints: CheckpointFile;
  readonly signer: LogSigner;
  /** The log key is another one than before, on purpose. Absent: then nothing is signed with it. */
  readonly rotation?: KeyRotation | undefined;
  /** What the other notaries of a cluster signed. Default: there is no other one. */
  readonly shared?: SharedCheckpoints | undefined;
  /** Which notary of a cluster signs. Default: this one. */
  readonly turns?: Turns | undefined;
  /** How long a log may end before what was signed, because its store lags behind. Default: 0. */
  readonly behindMs?: number | undefined;
  /** `COUNTERSIGN_LOG_ORIGIN`; null: derived from the log's first event. */
  readonly origin: string | null;
  /** The operator accepts the log as it is: where it contradicts what was signed, it goes on as the next epoch. */
  readonly acceptsContradiction: boolean;
  /** Records why a tenant's log goes on as its next epoch. Absent: the one who accepts it has recorded that. */
  readonly recordAccepted?: RecordAccepted | undefined;
  readonly clock: Clock;
  readonly log: Log;
}
