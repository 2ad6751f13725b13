import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, jest } from '@jest/globals';
import type { JsonObject, JsonValue } from '@countersign/contracts';
import { gateTool } from './gate-tool.js';
import { inputSchemaOf } from './schema.js';

const cases = join(import.meta.dirname, '..', '..', '..', '..', 'test', 'cases');
const casesOf = (file: string): unknown => JSON.parse(readFileSync(join(cases, file), 'utf8'));

interface FormatCase {
  readonly format: string;
  readonly value: JsonValue;
  readonly valid: boolean;
}

interface SchemaCase {
  readonly name: string;
  readonly schema?: JsonObject;
  readonly schemaText?: string;
  readonly calls: readonly {
    readonly arguments: JsonObject;
    readonly status: readonly number[];
    readonly prefer?: number;
    readonly orNoteAt?: string;
  }[];
}

describe('the check of the worker', () => {
  it('knows the formats as the server does', async () => {
    const wrong: unknown[] = [];
    for (const { format, value, valid } of casesOf('formats.json') as FormatCase[]) {
      const parsed = await inputSchemaOf({ properties: { a: { format } } }).parse({ a: value });
      if (parsed.valid !== valid) wrong.push([format, value]);
    }
    expect(wrong).toEqual([]);
  });

  it.each(casesOf('tool-schemas.json') as SchemaCase[])(
    'of $name takes and refuses what the server does',
    async (one) => {
      const schema = one.schema ?? (JSON.parse(one.schemaText ?? '') as JsonObject);
      const { parse, notes } = inputSchemaOf(schema);
      for (const call of one.calls) {
        const { valid } = await parse(call.arguments);
        const status = valid ? 201 : 422;
        const isNoted = valid && notes.some(({ pointer }) => pointer === call.orNoteAt);
        const isRight = call.prefer === undefined ? call.status.includes(status) : status === call.prefer;
        expect([call.arguments, isRight || isNoted]).toEqual([call.arguments, true]);
      }
    },
  );
});

interface NumberCase {
  readonly text: string;
  readonly taken: boolean;
  readonly where?: 'schema';
}

it('the worker takes the numbers that the server takes, and refuses whole ones that it would', async () => {
  const { parse } = inputSchemaOf({ type: 'object' });
  const wrong: string[] = [];
  for (const { text, taken, where } of casesOf('numbers.json') as NumberCase[]) {
    const value = Number(text);
    const areDigits = /^-?[1-9][0-9]{5,19}$/.test(text);
    // The digits of a fraction are lost before the worker has it, and it writes a whole number as digits alone.
    const isWrittenAnew =
      Number.isInteger(value) && !areDigits && Math.abs(value) > Number.MAX_SAFE_INTEGER && Math.abs(value) < 1e21;
    if (where === 'schema' || Number.isNaN(value) || isWrittenAnew || (!taken && !areDigits)) continue;
    if ((await parse({ n: value })).valid !== taken) wrong.push(text);
  }
  expect(wrong).toEqual([]);
});

it('the place of a wrong value is a JSON pointer, whatever its name', async () => {
  const { parse } = inputSchemaOf({ properties: { 'a.b/c': { properties: { on: { type: 'boolean' } } } } });
  expect(await parse({ 'a.b/c': { on: 1 } })).toEqual({
    valid: false,
    issues: [{ path: '/a.b~1c/on', message: 'must be boolean' }],
  });
});

it('a tool with a schema that is not checked whole warns when it is declared', () => {
  const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  const inputSchema = { properties: { a: { pattern: '(?<!x)y' }, b: { $ref: '#/$defs/none' } } };
  const { schemaNotes } = gateTool({ name: 'odd', inputSchema, execute: () => null });
  gateTool({ name: 'plain', inputSchema: { type: 'object' }, execute: () => null });
  expect(schemaNotes.map(({ pointer }) => pointer).toSorted()).toEqual(['/properties/a/pattern', '/properties/b/$ref']);
  const texts = warn.mock.calls.map(([text]) => String(text));
  expect(texts.toSorted()).toEqual([
    expect.stringMatching(
      /^tool odd: Countersign does not check \/properties\/a\/pattern of the input schema: it is not/,
    ),
    expect.stringMatching(
      /^tool odd: Countersign does not check \/properties\/b\/\$ref of the input schema: it leads to/,
    ),
  ]);
  warn.mockRestore();
});
