import { closeSync, fsyncSync, openSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { LogEventView } from '@countersign/contracts';
import { createParquetTable } from '@countersign/exports';
import { openLines } from '../audit/file-lines.js';
import { viewsFile } from './layout.js';

const rowsPerPage = 500;

/** Writes the Parquet file of a month from its NDJSON file, row group by row group. */
export async function writeParquet(folder: string, month: string, onRows: (rows: number) => void): Promise<void> {
  const file = join(folder, viewsFile(month, 'parquet'));
  const fd = openSync(`${file}.next`, 'w');
  try {
    const table = createParquetTable((bytes) => {
      for (let at = 0; at < bytes.length;) at += writeSync(fd, bytes, at);
    });
    for (const page of pagesOf(join(folder, viewsFile(month, 'ndjson')))) {
      await table.add(page);
      onRows(page.length);
    }
    await table.end();
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(`${file}.next`, file);
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
