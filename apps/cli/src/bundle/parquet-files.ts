import { closeSync, fsyncSync, openSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { LogEventView } from '@countersign/contracts';
import { createParquetTable } from '@countersign/exports';
import { openLines } from '../audit/file-lines.js';
import { viewsFile } from './layout.js';

const rowsPerPage = 500;

/** The table of a month. */
interface ParquetPart {
  readonly folder: string;
  readonly month: string;
  readonly interrupted: AbortSignal;
  readonly onRows: (rows: number) => void;
}

/**
 * Writes the Parquet file of a month from its NDJSON file, row group by row group. Returns false when the person interrupts it:
 * there is no file then.
 */
export async function writeParquet({ folder, month, interrupted, onRows }: ParquetPart): Promise<boolean> {
  const file = join(folder, viewsFile(month, 'parquet'));
  const fd = openSync(`${file}.next`, 'w');
  try {
    const table = createParquetTable((bytes) => {
      for (let at = 0; at < bytes.length;) at += writeSync(fd, bytes, at);
    });
    for (const page of pagesOf(join(folder, viewsFile(month, 'ndjson')))) {
      await table.add(page);
      onRows(page.length);
      // A signal is handled between turns of the event loop.
      await setImmediate();
      if (interrupted.aborted) return false;
    }
    await table.end();
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(`${file}.next`, file);
  return true;
}

function* pagesOf(file: string): Generator<readonly LogEventView[]> {
  const lines = openLines(file);
  try {
    let page: LogEventView[] = [];
    for (let line = lines.next(); line !== undefined; line = lines.next()) {
      page.push(JSON.parse(line.text ?? '') as LogEventView);
      if (page.length < rowsPerPage) continue;
      yield page;
      page = [];
    }
    if (page.length > 0) yield page;
  } finally {
    lines.close();
  }
}
