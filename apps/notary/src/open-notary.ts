import { join } from 'node:path';
import { createExecSigner } from './exec-signer.js';
import type { SignerProgram } from './exec-signer.js';
import { loadLogSeed } from './log-key.js';
import { createSeedSigner } from './log-signer.js';
import { createNotary } from './notary.js';
import type { Notary } from './notary.js';
import type { NotaryPorts } from './ports.js';
import { openCheckpointFile } from './sqlite/checkpoint-file.js';
import { openTreeFile } from './sqlite/tree-file.js';

/** Where the notary of a data folder finds its log and its key. */
export interface NotaryPlace extends Omit<NotaryPorts, 'trees' | 'checkpoints' | 'signer'> {
  readonly folder: string;
  /** The operator's own log key; null: `log.key` in the folder, made at the first start. */
  readonly logKeyFile: string | null;
  /** A program that signs instead of a key; null: none. */
  readonly logSigner: SignerProgram['command'] | null;
}

/**
 * Starts the notary of a data folder, with its files `log-tree.db` and `checkpoints.db`.
 * @throws ConfigError when the named key cannot be used; DatabaseFileError when a file is damaged.
 */
export function openNotary({ folder, logKeyFile, logSigner, ...ports }: NotaryPlace): Notary {
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
    const stop = async (): Promise<void> => {
      await notary.stop();
      trees.close();
      checkpoints.close();
    };
    return { ...notary, stop };
  } catch (error) {
    checkpoints.close();
    throw error;
  }
}
