import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ByteWriter, ParquetWriter, schemaFromColumnData } from 'hyparquet-writer';
import type { Cell } from './columns.js';
import { eventColumns } from './columns.js';
import { shortenBounds } from './parquet-bounds.js';
import { createParquetTable } from './parquet.js';

/** A file of the library, with a group for each list of texts. */
function fileOf(groups: readonly (readonly string[])[], afterGroup: (file: ParquetWriter) => void): Uint8Array {
  const writer = new ByteWriter();
  const column = { name: 'text', type: 'STRING' as const, nullable: true, offsetIndex: false };
  const file = new ParquetWriter({ writer, schema: schemaFromColumnData({ columnData: [{ ...column, data: [] }] }) });
  for (const texts of groups) {
    void file.write({ columnData: [{ ...column, data: [...texts] }], rowGroupSize: texts.length });
    afterGroup(file);
  }
  void file.finish();
  return writer.getBytes().slice();
}

it('leaves every byte of a file as the library writes it', () => {
  // The characters at the limits of one to four bytes, the one that cannot be rounded up, and halves of pairs.
  const characters = ['a', '\x7f', '\u0080', '\u07ff', '\u0800', '\ud7ff', '\ue000', '\uffff', '\u{10000}'];
  const unit = fc.constantFrom(...characters, '\u{10ffff}', '\u{10ffff}', '\ud800', '\udc00');
  const texts = fc.array(fc.string({ unit, minLength: 0, maxLength: 70 }), { minLength: 1, maxLength: 3 });
  fc.assert(
    fc.property(fc.array(texts, { minLength: 1, maxLength: 3 }), (groups) => {
      const plain = fileOf(groups, () => undefined);
      const shortened = fileOf(groups, ({ row_groups: written }) => {
        shortenBounds(written.at(-1));
      });
      expect(Buffer.compare(plain, shortened)).toBe(0);
    }),
    { numRuns: 500 },
  );
});

it('keeps the memory of a table from growing with its rows', async () => {
  setFlagsFromString('--expose-gc');
  const before = heapMb();
  const table = createParquetTable(() => undefined);
  const at = eventColumns.findIndex(({ name }) => name === 'data');
  for (let group = 0; group < 24; group += 1) {
    const row = Array.from<Cell>({ length: eventColumns.length }).fill(null);
    await table.add([row.with(at, `${String(group)} ${'x'.repeat(9 * 1024 * 1024)}`)]);
  }
  // The values of all groups would be 216 MB.
  expect(heapMb() - before).toBeLessThan(50);
  await table.end();
});

function heapMb(): number {
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed / 1024 / 1024;
}
