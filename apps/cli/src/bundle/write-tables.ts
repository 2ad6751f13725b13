import { openMonthTables } from './month-tables.js';
import type { MadeFiles } from './month-tables.js';

/** How long the NDJSON files of an export are, told while it writes them. */
export interface Growth {
  /** The lengths by path, in the order in which the files began. A line ends at each. */
  readonly lengths: ReadonlyMap<string, number>;
  readonly isEnded: () => boolean;
  /** Resolves when a file is longer, or all are ended. */
  readonly changed: () => Promise<void>;
}

/**
 * Makes the tables of each month while its NDJSON file grows, one month at a time, so that one group of rows is in memory. Events
 * are in the order of their months, nearly always; a month that went on after the next one is made once more at the end.
 */
export async function writeTables(folder: string, growth: Growth, onRows: (rows: number) => void): Promise<MadeFiles> {
  const { lengths, isEnded, changed } = growth;
  const made = new Map<string, MadeFiles>();
  const make = async (path: string): Promise<void> => {
    made.set(path, await tablesOf(path, { folder, growth, onRows }));
  };
  while (lengths.size > made.size || !isEnded()) {
    const next = [...lengths.keys()][made.size];
    await (next === undefined ? changed() : make(next));
  }
  for (const [path, files] of made) if (files[path]?.bytes !== lengths.get(path)) await make(path);
  return Object.assign({}, ...made.values()) as MadeFiles;
}

interface Following {
  readonly folder: string;
  readonly growth: Growth;
  readonly onRows: (rows: number) => void;
}

/** The tables of a month, complete when the next month has begun. */
async function tablesOf(path: string, { folder, growth, onRows }: Following): Promise<MadeFiles> {
  const { lengths, isEnded, changed } = growth;
  const tables = openMonthTables(folder, path);
  try {
    for (;;) {
      const isComplete = isEnded() || [...lengths.keys()].at(-1) !== path;
      onRows(await tables.follow(lengths.get(path) ?? 0));
      if (isComplete) return await tables.end();
      await changed();
    }
  } finally {
    tables.close();
  }
}
