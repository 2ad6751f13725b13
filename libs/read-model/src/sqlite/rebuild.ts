import { renameSync } from 'node:fs';
import type { Log } from '@countersign/runtime';
import type { LogSource } from '../log-source.js';
import { catchUp, fresh } from './catch-up.js';
import type { OnProgress, Target } from './catch-up.js';
import { createScratchDatabase, discard, rebuiltFile, seal } from './database.js';
import type { RowSeal } from './database.js';
import { createEngine } from './engine.js';
import type { Engine } from './engine.js';
import type { Bounds } from './working-set.js';

/** The read model to rebuild, and its log. */
export interface RebuildOptions {
  /** The read model's file. */
  readonly file: string;
  readonly source: LogSource;
  readonly log: Log;
  readonly onProgress?: OnProgress | undefined;
  /** Encrypts the rows of calls with sensitive values. */
  readonly seal?: RowSeal | undefined;
}

/** The result of a rebuild. */
export interface RebuildReport {
  readonly events: number;
  readonly position: number;
}

/** An engine as what events are caught up into. */
export function asTarget(engine: Engine): Target {
  return {
    checkpoint: engine.checkpoint,
    apply: (events) => {
      engine.apply(fresh(events, engine.checkpoint().position), new Set());
    },
  };
}

/** Whole pages of the log in one transaction, since no reader waits for them. */
const scratchBounds: Bounds = {
  recentRows: 4096,
  recentBytes: 16 * 1024 * 1024,
  unflushedEvents: 5000,
  unflushedBytes: 16 * 1024 * 1024,
};

/** An empty read model in its own file, which is deleted unless `seal` is reached. */
export function openScratch(file: string, rowSeal?: RowSeal): Engine {
  return createEngine(createScratchDatabase(file, rowSeal), scratchBounds, rowSeal);
}

/** Leaves a complete scratch file for the next opening of `file`. */
export function handOver(scratch: string, file: string): void {
  seal(scratch);
  renameSync(scratch, rebuiltFile(file));
}

/**
 * Replays the log from zero into a new file while the current one stays in use. The next opening replaces the old file
 * by the new one; when the rebuild fails or is killed, the old one stays.
 */
export async function rebuildReadModel(options: RebuildOptions): Promise<RebuildReport> {
  const { file, source, log, onProgress } = options;
  const beside = `${file}.rebuild`;
  const engine = openScratch(beside, options.seal);
  try {
    const events = await catchUp(asTarget(engine), source, await source.head(), onProgress);
    const { position } = engine.checkpoint();
    engine.close();
    handOver(beside, file);
    log.info({ file, events, position }, 'the read model is built from the log');
    return { events, position };
  } finally {
    engine.close();
    discard(beside);
  }
}
