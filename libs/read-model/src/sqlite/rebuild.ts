import { renameSync } from 'node:fs';
import type { Log } from '@countersign/runtime';
import type { LogSource } from '../read-model.js';
import { catchUp, fresh } from './catch-up.js';
import type { OnProgress, Target } from './catch-up.js';
import { createScratchDatabase, discard, rebuiltFile, seal } from './database.js';
import { createEngine } from './engine.js';
import type { Engine } from './engine.js';
import type { Bounds } from './working-set.js';

/** What is rebuilt, and from where. */
export interface RebuildOptions {
  /** The read model's file. */
  readonly file: string;
  readonly source: LogSource;
  readonly log: Log;
  readonly onProgress?: OnProgress | undefined;
}

/** What a rebuild has read. */
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

/** Whole pages of the log in one transaction: nobody waits for any of them. */
const scratchBounds: Bounds = {
  recentRows: 4096,
  recentBytes: 16 * 1024 * 1024,
  unflushedEvents: 5000,
  unflushedBytes: 16 * 1024 * 1024,
};

/** An empty read model in a file of its own, to be thrown away unless `seal` is reached. */
export function openScratch(file: string): Engine {
  return createEngine(createScratchDatabase(file), scratchBounds);
}

/** Hands a complete scratch file over to the next opening of `file`. */
export function handOver(scratch: string, file: string): void {
  seal(scratch);
  renameSync(scratch, rebuiltFile(file));
}

/**
 * Replays the log from zero into a file beside the present one, which goes on serving. The next opening takes the new
 * file in place of the old; when the rebuild fails or is killed, the old one stays.
 */
export async function rebuildReadModel({ file, source, log, onProgress }: RebuildOptions): Promise<RebuildReport> {
  const beside = `${file}.rebuild`;
  const engine = openScratch(beside);
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
