import { renameSync } from 'node:fs';
import type { Log } from '@countersign/runtime';
import type { LogSource } from '../read-model.js';
import { catchUp, fresh } from './catch-up.js';
import type { OnProgress, Target } from './catch-up.js';
import { discard, rebuiltFile } from './database.js';
import { openEngine } from './engine.js';
import type { Engine } from './engine.js';
import { defaultBounds } from './working-set.js';

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

/** Opens an empty read model in a file of its own, whatever was left there. */
export function openScratch(file: string, log: Log): Engine {
  discard(file);
  return openEngine(file, log, defaultBounds);
}

/**
 * Replays the log from zero into a file beside the present one, which goes on serving. The next opening takes the new
 * file in place of the old; when the rebuild fails or is killed, the old one stays.
 */
export async function rebuildReadModel({ file, source, log, onProgress }: RebuildOptions): Promise<RebuildReport> {
  const beside = `${file}.rebuild`;
  const engine = openScratch(beside, log);
  try {
    const events = await catchUp(asTarget(engine), source, await source.head(), onProgress);
    const { position } = engine.checkpoint();
    engine.close();
    renameSync(beside, rebuiltFile(file));
    return { events, position };
  } finally {
    engine.close();
    discard(beside);
  }
}
