import { createHash } from 'node:crypto';
import { closeSync, fsyncSync, openSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { LogEventView } from '@countersign/contracts';
import { cellsOf, createParquetTable, csvHeader, csvLine } from '@countersign/exports';
import type { Cell } from '@countersign/exports';
import type { ManifestFile } from './layout.js';

const chunkBytes = 256 * 1024;
/** A text is written when so many characters of it wait. */
const waitingMax = 64 * 1024;
const newline = 0x0a;

/** Files by their paths in the bundle. */
export type MadeFiles = Readonly<Record<string, ManifestFile>>;

/** The CSV and the Parquet file of a month, made from its NDJSON file while that file grows. */
export interface MonthTables {
  /** Adds the rows of the lines up to a length of the NDJSON file, and returns how many. A line ends there. */
  readonly follow: (length: number) => Promise<number>;
  /** Writes the tables to the disk, under the names that `unfinished` returns. Returns them and the NDJSON file under their own. */
  readonly end: () => Promise<MadeFiles>;
  readonly close: () => void;
}

/** The name of a table until the export is complete. */
export function unfinished(path: string): string {
  return `${path}.next`;
}

/** @param source the path of the NDJSON file in the folder. */
export function openMonthTables(folder: string, source: string): MonthTables {
  const csvPath = source.replace(/ndjson$/, 'csv');
  const parquetPath = source.replace(/ndjson$/, 'parquet');
  const lines = openGrowing(join(folder, source));
  const csv = createFile(join(folder, unfinished(csvPath)));
  const parquet = createFile(join(folder, unfinished(parquetPath)));
  const table = createParquetTable(parquet.append);
  csv.appendText(csvHeader);
  let count = 0;
  /** One row after the other: the table keeps what it needs of each. */
  function* rowsUpTo(length: number): Generator<readonly Cell[]> {
    for (const text of lines.upTo(length)) {
      const row = cellsOf(JSON.parse(text) as LogEventView);
      csv.appendText(csvLine(row));
      count += 1;
      yield row;
    }
  }
  return {
    follow: async (length) => {
      const before = count;
      await table.add(rowsUpTo(length));
      return count - before;
    },
    end: async () => {
      await table.end();
      return { [source]: lines.file(), [csvPath]: csv.end(), [parquetPath]: parquet.end() };
    },
    close: () => {
      for (const file of [lines, csv, parquet]) file.close();
    },
  };
}

/** Reads the lines of a file that another thread writes. */
function openGrowing(path: string) {
  const fd = openSync(path, 'r');
  const hashing = createHash('sha256');
  let buffer = Buffer.allocUnsafeSlow(chunkBytes);
  /** How much of the file was read, and how much of that is in the buffer: the begin of a line. */
  let [at, kept] = [0, 0];
  return {
    /** The lines up to this length. */
    *upTo(length: number): Generator<string> {
      while (at < length) {
        if (kept === buffer.length) buffer = Buffer.concat([buffer], 2 * kept);
        const count = readSync(fd, buffer, kept, Math.min(buffer.length - kept, length - at), at);
        if (count === 0) throw new Error(`${path} is shorter than it was`);
        const read = buffer.subarray(0, kept + count);
        hashing.update(read.subarray(kept));
        at += count;
        let begin = 0;
        for (let end = read.indexOf(newline, kept); end !== -1; end = read.indexOf(newline, begin)) {
          yield read.toString('utf8', begin, end);
          begin = end + 1;
        }
        kept = read.copy(buffer, 0, begin);
      }
    },
    file: (): ManifestFile => ({ bytes: at, sha256: hashing.digest('hex') }),
    close: () => {
      closeSync(fd);
    },
  };
}

/** Writes a file, and hashes what it writes. */
function createFile(path: string) {
  const fd = openSync(path, 'w');
  const hashing = createHash('sha256');
  let [length, waiting] = [0, ''];
  const append = (bytes: Uint8Array): void => {
    hashing.update(bytes);
    for (let at = 0; at < bytes.length;) at += writeSync(fd, bytes, at);
    length += bytes.length;
  };
  const flush = (): void => {
    append(Buffer.from(waiting));
    waiting = '';
  };
  return {
    append,
    appendText: (text: string): void => {
      waiting += text;
      if (waiting.length >= waitingMax) flush();
    },
    end: (): ManifestFile => {
      flush();
      fsyncSync(fd);
      return { bytes: length, sha256: hashing.digest('hex') };
    },
    close: () => {
      closeSync(fd);
    },
  };
}
