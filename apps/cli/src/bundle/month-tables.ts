import { createHash } from 'node:crypto';
import { closeSync, fsyncSync, openSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { LogEventView } from '@countersign/contracts';
import { cellsOf, createParquetTable, csvHeader, csvLine } from '@countersign/exports';
import type { ManifestFile } from './layout.js';

const chunkBytes = 256 * 1024;
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
  csv.append(Buffer.from(csvHeader));
  return {
    follow: async (length) => {
      let count = 0;
      for (const texts of lines.upTo(length)) {
        const rows = texts.map((text) => cellsOf(JSON.parse(text) as LogEventView));
        csv.append(Buffer.from(rows.map(csvLine).join('')));
        await table.add(rows);
        count += rows.length;
      }
      return count;
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
  let [at, rest] = [0, Buffer.alloc(0)];
  return {
    /** The lines up to this length, some at a time. */
    *upTo(length: number): Generator<readonly string[]> {
      while (at < length) {
        const chunk = Buffer.allocUnsafe(Math.min(chunkBytes, length - at));
        const count = readSync(fd, chunk, 0, chunk.length, at);
        if (count === 0) throw new Error(`${path} is shorter than it was`);
        const read = chunk.subarray(0, count);
        hashing.update(read);
        at += count;
        rest = rest.length === 0 ? read : Buffer.concat([rest, read]);
        const end = rest.lastIndexOf(newline);
        if (end === -1) continue;
        yield rest.toString('utf8', 0, end).split('\n');
        rest = rest.subarray(end + 1);
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
  let length = 0;
  return {
    append: (bytes: Uint8Array): void => {
      hashing.update(bytes);
      for (let at = 0; at < bytes.length;) at += writeSync(fd, bytes, at);
      length += bytes.length;
    },
    end: (): ManifestFile => {
      fsyncSync(fd);
      return { bytes: length, sha256: hashing.digest('hex') };
    },
    close: () => {
      closeSync(fd);
    },
  };
}
