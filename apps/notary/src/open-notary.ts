import { join } from 'node:path';
import type { SystemLog } from '@countersign/shell';
import { createExecSigner } from './exec-signer.js';
import type { SignerProgram } from './exec-signer.js';
import type { KeyRotation } from './key-rotation.js';
import { loadLogSeed, loadPreviousSeed } from './log-key.js';
import type { PreviousLogKey } from './log-key.js';
import { createSeedSigner } from './log-signer.js';
import type { LogSigner } from './log-signer.js';
import { createNotary } from './notary.js';
import type { Notary } from './notary.js';
import type { NotaryPorts } from './ports.js';
import type { Announcer } from './sinks/announcer.js';
import { openSinks } from './sinks/sink-settings.js';
import type { SinkSettings } from './sinks/sink-settings.js';
import { createSinks } from './sinks/sinks.js';
import type { Sinks } from './sinks/sinks.js';
import { openCheckpointFile } from './sqlite/checkpoint-file.js';
import type { CheckpointFile } from './sqlite/checkpoint-file.js';
import { openTreeFile } from './sqlite/tree-file.js';
import type { KeptTimestamp, WantedTimestamps } from './sqlite/timestamp-rows.js';
import { createKeptTimestamps } from './timestamps/kept-timestamps.js';
import type { SharedTimestamps } from './timestamps/shared-timestamps.js';
import { recordTimestampSettings } from './timestamps/timestamp-settings.js';
import type { TimestampSettings } from './timestamps/timestamp-settings.js';
import { createTimestamps } from './timestamps/timestamps.js';
import type { Timestamps } from './timestamps/timestamps.js';
import { createCosigned } from './witnesses/cosigned.js';
import { followWitnesses } from './witnesses/follow-witnesses.js';
import { recordWitnesses } from './witnesses/witness-settings.js';
import type { WitnessSettings } from './witnesses/witness-settings.js';
import type { Witnesses } from './witnesses/witnesses.js';

/** Where the notary of a data folder finds its log and its key. */
export interface NotaryPlace extends Omit<NotaryPorts, 'trees' | 'checkpoints' | 'signer' | 'rotation'> {
  readonly folder: string;
  /** The operator's own log key; null: `log.key` in the folder, made at the first start. */
  readonly logKeyFile: string | null;
  /** A program that signs instead of a key; null: none. */
  readonly logSigner: SignerProgram['command'] | null;
  /** The log key that signed before, which this one replaces. Absent or null: there is none. */
  readonly previousLogKey?: PreviousLogKey | null | undefined;
  /** Records the change of the log key. Absent: the key cannot be replaced within an epoch. */
  readonly recordKeyChange?: KeyRotation['record'] | undefined;
  /** Where the log is pushed. */
  readonly sinks: readonly SinkSettings[];
  /** Publishes on Kafka's topic of checkpoints. Default: there is no Kafka. */
  readonly publish?: Announcer['publish'] | undefined;
  /** Who cosigns the checkpoints; absent: nobody does. */
  readonly witnesses?: WitnessSettings | null | undefined;
  /** Who stamps the checkpoints; absent or null: nobody does. */
  readonly timestamps?: TimestampSettings | null | undefined;
  /** The time stamps that other notaries of a cluster got. Default: there is no other one. */
  readonly sharedTimestamps?: SharedTimestamps | undefined;
}

/** The notary of a data folder, with the witnesses and the sinks of its log. */
export interface OpenNotary extends Omit<Notary, 'newest'> {
  /** The newest checkpoint that has the quorum of the witnesses. `isPending`: the newest one of all. */
  readonly newest: (tenant: string, isPending?: boolean) => string | undefined;
  /** Why commands are refused: the log contradicts what was signed. Undefined: they are not. */
  readonly whyReadOnly: () => string | undefined;
  readonly witnessStates: Witnesses['states'];
  /** Records who stamps checkpoints, and who the witnesses are, now and after each change of their file. @throws as the store */
  readonly recordSettings: (system: SystemLog) => Promise<void>;
  /** False while the file of witnesses has a content that cannot be used, and an earlier one is in force. */
  readonly areWitnessesCurrent: () => boolean;
  /** When a checkpoint got the quorum of the witnesses last, in ms; undefined: not yet in this process. */
  readonly quorumAtMs: () => number | undefined;
  readonly sinkStates: Sinks['states'];
  /** The time stamps of a tenant's checkpoints, in their order. @throws as the store */
  readonly timestamps: (tenant: string, wanted: WantedTimestamps) => Promise<readonly KeptTimestamp[]>;
  readonly timestampState: Timestamps['state'];
}

/**
 * Starts the notary of a data folder, with its files `log-tree.db` and `checkpoints.db`.
 * @throws ConfigError when the named key cannot be used; DatabaseFileError when a file is damaged.
 */
export function openNotary(place: NotaryPlace): OpenNotary {
  const { folder, logKeyFile, logSigner, sinks: settings, witnesses: settled, publish, ...others } = place;
  const { previousLogKey = null, recordKeyChange, timestamps: stamping = null, sharedTimestamps, ...ports } = others;
  const { clock, log } = ports;
  const signer =
    logSigner === null
      ? createSeedSigner(loadLogSeed({ folder, logKeyFile, log }))
      : createExecSigner({ command: logSigner, clock });
  const previous = previousSigner(previousLogKey, { clock, log });
  const rotation =
    previous === undefined || recordKeyChange === undefined ? undefined : { previous, record: recordKeyChange };
  const checkpoints = openCheckpointFile(join(folder, 'checkpoints.db'));
  try {
    const trees = openTreeFile(join(folder, 'log-tree.db'));
    const notary = createNotary({ ...ports, trees, checkpoints, signer, rotation });
    notary.start();
    const { isActive } = notary;
    const witnesses = startWitnesses(settled ?? undefined, notary, checkpoints, { clock, log });
    const source = { ...notary.source, newest: witnesses.toPush };
    const sinks = createSinks({ sinks: openSinks(settings, clock, publish), source, isActive, clock, log });
    sinks.start();
    const kept = createKeptTimestamps({ file: checkpoints, shared: sharedTimestamps, settings: stamping, log });
    const timestamps = createTimestamps({ settings: stamping, kept, source: notary.source, isActive, clock, log });
    timestamps.start();
    const stop = async (): Promise<void> => {
      await notary.stop();
      await Promise.all([sinks.stop(), witnesses.stop(), timestamps.stop()]);
      trees.close();
      checkpoints.close();
    };
    const whyReadOnly = (): string | undefined => {
      const health = notary.health();
      return health.status === 'rewound' ? health.why : undefined;
    };
    const { states: witnessStates, isCurrent: areWitnessesCurrent, quorumAtMs } = witnesses;
    const states = { sinkStates: sinks.states, witnessStates, areWitnessesCurrent, quorumAtMs };
    const recordSettings = async (system: SystemLog): Promise<void> => {
      await recordTimestampSettings(system, stamping);
      await witnesses.recordIn(system);
    };
    const stamped = { timestamps: kept.read, timestampState: timestamps.state };
    return { ...notary, ...states, ...stamped, recordSettings, newest: witnesses.newest, whyReadOnly, stop };
  } catch (error) {
    checkpoints.close();
    throw error;
  }
}

function previousSigner(
  previous: PreviousLogKey | null,
  { clock, log }: Pick<NotaryPorts, 'clock' | 'log'>,
): LogSigner | undefined {
  if (previous !== null && 'command' in previous) return createExecSigner({ command: previous.command, clock });
  const seed = loadPreviousSeed(previous, log);
  return seed === undefined ? undefined : createSeedSigner(seed);
}

/** Asks the witnesses of a file; without one, each checkpoint counts as it is. */
function startWitnesses(
  settings: WitnessSettings | undefined,
  { source: pushed, witnessed, newest, isActive }: Notary,
  file: CheckpointFile,
  { clock, log }: Pick<NotaryPorts, 'clock' | 'log'>,
) {
  if (settings === undefined) {
    return {
      newest,
      toPush: pushed.newest,
      states: () => [],
      recordIn: (system: SystemLog) => recordWitnesses(system, null),
      isCurrent: () => true,
      quorumAtMs: () => undefined,
      stop: () => Promise.resolve(),
    };
  }
  const source = { ...witnessed, tenants: pushed.tenants, newest: pushed.newest };
  const cosigned = createCosigned({ policy: settings.policy, file, newest, clock });
  const witnesses = followWitnesses(settings, { cosigned, source, isActive, clock, log });
  return {
    newest: (tenant: string, isPending = false) => (isPending ? cosigned.pending(tenant) : cosigned.served(tenant)),
    toPush: (tenant: string) => (source.newest(tenant) === undefined ? undefined : cosigned.pending(tenant)),
    ...witnesses,
    quorumAtMs: cosigned.quorumAtMs,
  };
}
