import { join } from 'node:path';
import { createExecSigner } from './exec-signer.js';
import type { SignerProgram } from './exec-signer.js';
import { loadLogSeed } from './log-key.js';
import { createSeedSigner } from './log-signer.js';
import { createNotary } from './notary.js';
import type { Notary } from './notary.js';
import type { NotaryPorts } from './ports.js';
import type { Announcer } from './sinks/announcer.js';
import { openSinks } from './sinks/sink-settings.js';
import type { SinkSettings } from './sinks/sink-settings.js';
import { createSinks } from './sinks/sinks.js';
import type { Sinks } from './sinks/sinks.js';
import { openCheckpointFile } from './sqlite/checkpoint-file.js';
import { openTreeFile } from './sqlite/tree-file.js';

/** Where the notary of a data folder finds its log and its key. */
export interface NotaryPlace extends Omit<NotaryPorts, 'trees' | 'checkpoints' | 'signer'> {
  readonly folder: string;
  /** The operator's own log key; null: `log.key` in the folder, made at the first start. */
  readonly logKeyFile: string | null;
  /** A program that signs instead of a key; null: none. */
  readonly logSigner: SignerProgram['command'] | null;
  /** Where the log is pushed. */
  readonly sinks: readonly SinkSettings[];
  /** Publishes on Kafka's topic of checkpoints. Default: there is no Kafka. */
  readonly publish?: Announcer['publish'] | undefined;
}

/** The notary of a data folder, and the sinks of its log. */
export interface OpenNotary extends Notary {
  readonly sinkStates: Sinks['states'];
}

/**
 * Starts the notary of a data folder, with its files `log-tree.db` and `checkpoints.db`.
 * @throws ConfigError when the named key cannot be used; DatabaseFileError when a file is damaged.
 */
export function openNotary({
  folder,
  logKeyFile,
  logSigner,
  sinks: settings,
  publish,
  ...ports
}: NotaryPlace): OpenNotary {
  const { clock, log } = ports;
  const signer =
    logSigner === null
      ? createSeedSigner(loadLogSeed({ folder, logKeyFile, log }))
      : createExecSigner({ command: logSigner, clock });
  const checkpoints = openCheckpointFile(join(folder, 'checkpoints.db'));
  try {
    const trees = openTreeFile(join(folder, 'log-tree.db'));
    const notary = createNotary({ ...ports, trees, checkpoints, signer });
    notary.start();
    const { source, isActive } = notary;
    const sinks = createSinks({ sinks: openSinks(settings, clock, publish), source, isActive, clock, log });
    sinks.start();
    const stop = async (): Promise<void> => {
      await notary.stop();
      await sinks.stop();
      trees.close();
      checkpoints.close();
    };
    return { ...notary, stop, sinkStates: sinks.states };
  } catch (error) {
    checkpoints.close();
    throw error;
  }
}
