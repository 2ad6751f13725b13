import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { toEventView } from '@countersign/contracts';
import type { LogEventView, RecordedEvent } from '@countersign/contracts';
import { cellsOf, eventColumns } from './columns.js';
import { csvHeader, csvOf } from './csv.js';
import { linesOf } from './pages.js';
import { createParquetTable, parquetOf } from './parquet.js';

const golden = join(import.meta.dirname, '../../contracts/src/golden');
/** One event of each type, as the newest version stores it. */
const events: readonly LogEventView[] = readdirSync(golden)
  .filter((file) => file.endsWith('.v2.json'))
  .map((file) => JSON.parse(readFileSync(join(golden, file), 'utf8')) as RecordedEvent)
  .map((event) => toEventView(event, 'masked'));
const response = events.find(({ type }) => type === 'ApprovalResponded') as LogEventView;

const one = (event: LogEventView, name: string) =>
  cellsOf(event)[eventColumns.findIndex((column) => column.name === name)];
async function* pagesOf(...pages: (readonly LogEventView[])[]) {
  yield* pages;
  await Promise.resolve();
}
const whole = async <Piece>(pieces: AsyncIterable<Piece>): Promise<Piece[]> => {
  const all: Piece[] = [];
  for await (const piece of pieces) all.push(piece);
  return all;
};

interface ParquetReader {
  readonly parquetReadObjects: (file: {
    readonly file: ArrayBuffer;
    readonly compressors: object;
  }) => Promise<Record<string, unknown>[]>;
}

/** The rows of a file, read by a library that the writer only declares. */
async function rowsIn(bytes: Uint8Array): Promise<Record<string, unknown>[]> {
  const { zstdDecompressSync } = await import('node:zlib');
  const name = 'hyparquet';
  const { parquetReadObjects } = (await import(name)) as ParquetReader;
  const file = new Uint8Array(bytes).buffer;
  return parquetReadObjects({
    file,
    compressors: { ZSTD: (input: Uint8Array) => new Uint8Array(zstdDecompressSync(input)) },
  });
}

describe('the columns', () => {
  it('have a name of their own and an explanation each', () => {
    expect(new Set(eventColumns.map(({ name }) => name)).size).toBe(eventColumns.length);
    for (const { name, explanation } of eventColumns)
      expect([name, explanation]).toEqual([name, expect.stringMatching(/\.$/)]);
  });

  it('are each filled by an event that there is', () => {
    const rare = new Set([
      'erased',
      'missing',
      'unreadable',
      'shown',
      'credential',
      'session',
      'client',
      'address',
      'bulkId',
    ]);
    const empty = eventColumns.filter(({ cellOf }) => events.every((event) => cellOf(event) === null));
    expect(empty.map(({ name }) => name).filter((name) => !rare.has(name))).toEqual([]);
  });

  it('say who decided what, and how', () => {
    expect(one(response, 'actor')).toEqual(expect.any(String));
    expect(one(response, 'code')).toBe('CS203');
    expect(one(response, 'decision')).toMatch(/^(approve|edit|deny|answer)$/);
    expect(one(response, 'via')).toEqual(expect.any(String));
  });

  it('leave a value out that has another type than its column, and the members of an event that cannot be read', () => {
    const odd = { ...response, data: { decision: ['x'], reason: { a: 1 }, attempt: 1.5, via: 7 } } as LogEventView;
    for (const name of ['decision', 'reason', 'attempt', 'via']) expect(one(odd, name)).toBeNull();
    const lost = { ...response, actor: null, data: null, unreadable: 'its data do not fit' };
    expect([one(lost, 'reason'), one(lost, 'data'), one(lost, 'unreadable')]).toEqual([
      null,
      null,
      'its data do not fit',
    ]);
  });
});

describe('a table of events', () => {
  it('is CSV with the header once, also without an event', async () => {
    const text = (await whole(csvOf(pagesOf(events, events)))).join('');
    expect(text.startsWith(csvHeader)).toBe(true);
    expect(text.split(csvHeader)).toHaveLength(2);
    expect((await whole(csvOf(pagesOf()))).join('')).toBe(csvHeader);
  });

  it('is CSV in which no text of an agent begins a formula', async () => {
    const hostile = {
      ...response,
      toolName: '=cmd|calc',
      agentId: '@a',
      runId: '+1',
      data: { reason: '-2+3', via: '\tx' },
    };
    const [, line = ''] = (await whole(csvOf(pagesOf([hostile])))).join('').split('\r\n');
    for (const text of [`"'=cmd|calc"`, `'@a`, `'+1`, `'-2+3`, `"'\tx"`]) expect(line).toContain(text);
  });

  it('is one JSON text a line', async () => {
    const lines = (await whole(linesOf(pagesOf(events)))).join('').trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(events);
  });

  it('is Parquet with the same values as the CSV', async () => {
    const rows = await rowsIn(Buffer.concat(await whole(parquetOf(pagesOf(events.slice(0, 5), events.slice(5))))));
    expect(rows).toHaveLength(events.length);
    rows.forEach((row, index) => {
      const cells = eventColumns.map(({ name, type }) => {
        const value = row[name] ?? null;
        if (value instanceof Date) return value.toISOString();
        return type === 'integer' && value !== null
          ? Number(value)
          : typeof value === 'boolean'
            ? String(value)
            : value;
      });
      expect(cells).toEqual(cellsOf(events[index] as LogEventView));
    });
  });

  it('is Parquet without rows where there is no event, and with no time where the log has none', async () => {
    expect(await rowsIn(Buffer.concat(await whole(parquetOf(pagesOf()))))).toEqual([]);
    const [row] = await rowsIn(Buffer.concat(await whole(parquetOf(pagesOf([{ ...response, recordedAt: 'never' }])))));
    expect(row?.['recordedAt'] ?? null).toBeNull();
  });

  it('is Parquet that holds no more than a group of rows, and waits for its sink', async () => {
    const large = { ...response, data: { reason: 'x'.repeat(1024 * 1024) } };
    const written: number[] = [];
    let open = 0;
    const table = createParquetTable(async ({ length }) => {
      open += 1;
      expect(open).toBe(1);
      await new Promise(setImmediate);
      open -= 1;
      written.push(length);
    });
    await table.add(Array.from({ length: 20 }, () => cellsOf(large)));
    expect(written.length).toBeGreaterThan(1);
    await table.end();
    expect(open).toBe(0);
  });
});
