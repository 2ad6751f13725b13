import { zstdCompressSync } from 'node:zlib';
import { ByteWriter, ParquetWriter, schemaFromColumnData } from 'hyparquet-writer';
import type { BasicType } from 'hyparquet-writer';
import { cellsOf, eventColumns } from './columns.js';
import type { Cell, ColumnType } from './columns.js';
import type { EventPages } from './pages.js';
import { shortenBounds } from './parquet-bounds.js';

/** A group of rows is kept until it is written: at most this many rows, and about this many characters. */
const [rowsMax, lengthMax] = [10_000, 8 * 1024 * 1024];

const types: Readonly<Record<ColumnType, BasicType>> = {
  text: 'STRING',
  json: 'STRING',
  integer: 'INT64',
  boolean: 'BOOLEAN',
  time: 'TIMESTAMP',
};

/** A table of events as a Parquet file. */
export interface ParquetTable {
  /** Adds rows of `cellsOf`. Resolves when the sink has taken those that could be written. */
  readonly add: (rows: Iterable<readonly Cell[]>) => Promise<void>;
  /** Writes the remaining rows and the end of the file. */
  readonly end: () => Promise<void>;
}

/**
 * Creates a table that is written with `write`, one piece after the other. It compresses with Zstandard and holds one group of rows
 * in memory. A file without rows is valid, too.
 */
export function createParquetTable(write: (bytes: Uint8Array) => Promise<void> | void): ParquetTable {
  const bytes = createSink(write);
  const columns = eventColumns.map(({ name, type }) => ({
    name,
    type: types[type],
    nullable: true,
    offsetIndex: false,
  }));
  const file = new ParquetWriter({
    writer: bytes,
    schema: schemaFromColumnData({ columnData: columns.map((column) => ({ ...column, data: [] })) }),
    codec: 'ZSTD',
    compressors: { ZSTD: (input) => zstdCompressSync(input) },
    createdBy: 'countersign',
  });
  let group = emptyGroup();
  const writeGroup = async (): Promise<void> => {
    const { cells, rows } = group;
    group = emptyGroup();
    await file.write({
      columnData: columns.map((column, at) => ({ ...column, data: cells[at] ?? [] })),
      rowGroupSize: Math.max(1, rows),
    });
    shortenBounds(file.row_groups.at(-1));
  };
  return {
    add: async (rows) => {
      for (const row of rows) {
        addRow(group, row);
        if (group.rows >= rowsMax || group.length >= lengthMax) await writeGroup();
      }
    },
    end: async () => {
      if (group.rows > 0) await writeGroup();
      await file.finish();
      await bytes.flush();
    },
  };
}

/** The table of events as Parquet, in pieces. */
export async function* parquetOf(pages: EventPages): AsyncGenerator<Uint8Array, void> {
  const pieces: Uint8Array[] = [];
  const table = createParquetTable((bytes) => {
    pieces.push(bytes);
  });
  for await (const page of pages) {
    await table.add(page.map(cellsOf));
    yield* pieces.splice(0);
  }
  await table.end();
  yield* pieces.splice(0);
}

type ParquetCell = string | bigint | boolean | Date | null;

/** The rows of a group by column, as the library takes them. */
interface Group {
  readonly cells: ParquetCell[][];
  rows: number;
  length: number;
}

function emptyGroup(): Group {
  return { cells: eventColumns.map(() => []), rows: 0, length: 0 };
}

function addRow(group: Group, row: readonly Cell[]): void {
  group.rows += 1;
  for (const [at, { type }] of eventColumns.entries()) {
    const cell = row[at] ?? null;
    if (typeof cell === 'string') group.length += cell.length;
    group.cells[at]?.push(parquetCell(cell, type));
  }
}

function parquetCell(cell: Cell, type: ColumnType): ParquetCell {
  if (cell === null) return null;
  switch (type) {
    case 'integer':
      return BigInt(cell);
    case 'boolean':
      return cell === 'true';
    case 'time':
      return timeOf(String(cell));
    case 'text':
    case 'json':
      return String(cell);
  }
}

/** A time that is none, as in a forged log, is left out. */
function timeOf(text: string): Date | null {
  const time = new Date(text);
  return Number.isNaN(time.getTime()) ? null : time;
}

/** The library's buffer, emptied into `write` after each group of rows. */
function createSink(write: (bytes: Uint8Array) => Promise<void> | void): ByteWriter & { flush: () => Promise<void> } {
  const buffer = new ByteWriter();
  const flush = async (): Promise<void> => {
    if (buffer.index === 0) return;
    const bytes = buffer.getBytes().slice();
    buffer.index = 0;
    await write(bytes);
  };
  return Object.assign(buffer, { flush });
}
