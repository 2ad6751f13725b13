import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { localError } from '../cli-error.js';
import type { MadeFiles } from './month-tables.js';

/** What the thread is told: that an NDJSON file of views is so long, or that all are complete. */
export type ToTables = { readonly path: string; readonly length: number } | 'end';

/** What the thread says: how many rows it added, or the files when they are complete. */
export type FromTables = { readonly rows: number } | { readonly files: MadeFiles };

/** The thread that makes the CSV and the Parquet files of an export from its NDJSON files, while they are written. */
export interface Tables {
  readonly grown: (path: string, length: number) => void;
  /** Is aborted when the thread fails. */
  readonly failed: AbortSignal;
  /**
   * Returns the tables, and the NDJSON files that they are made of.
   * @param onRows is told how many rows there are until then.
   * @throws what made the thread fail
   */
  readonly end: (onRows: (rows: number) => void) => Promise<MadeFiles>;
  readonly close: () => Promise<void>;
}

/** Its heap has few objects that live long. There is no limit for the others: a large event would end the thread. */
const resourceLimits = { maxYoungGenerationSizeMb: 12 };

/** Starts the thread. @throws CliError where the program was not built */
export function startTables(folder: string): Tables {
  const thread = new Worker(threadFile(), { workerData: folder, resourceLimits });
  const failure = new AbortController();
  let rows = 0;
  let shown: ((rows: number) => void) | undefined;
  const tell = (message: ToTables): void => {
    thread.postMessage(message);
  };
  const made = new Promise<MadeFiles>((resolve, reject) => {
    thread.on('message', (message: FromTables) => {
      if ('files' in message) resolve(message.files);
      else shown?.((rows += message.rows));
    });
    thread.on('error', reject);
    thread.on('exit', () => {
      reject(new Error('the thread that makes the tables ended'));
    });
  });
  made.catch((error: unknown) => {
    failure.abort(error);
  });
  return {
    grown: (path, length) => {
      tell({ path, length });
    },
    failed: failure.signal,
    end: (onRows) => {
      shown = onRows;
      onRows(rows);
      tell('end');
      return made;
    },
    close: async () => {
      await thread.terminate();
    },
  };
}

function threadFile(): URL {
  // From `bundle/`, and from a module in `dist/bundle/`.
  const places = ['./tables-thread.js', '../../bundle/tables-thread.js'];
  const found = places
    .map((place) => new URL(place, import.meta.url))
    .find((place) => existsSync(fileURLToPath(place)));
  if (found !== undefined) return found;
  throw localError('unexpected', 'no-tables', 'tables-thread.js was not built.', 'Run `npm run build`.');
}
