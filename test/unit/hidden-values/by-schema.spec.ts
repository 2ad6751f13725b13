import { expect, it } from '@jest/globals';
import { isMarkedSchema, sensitivePointers } from '@countersign/contracts';
import type { JsonObject } from '@countersign/contracts';
import { checkValue, createWork, hasMark, markedPlaces, prepareSchema } from '@countersign/json-schema';
import { codeIn, tableOf } from './tables.js';

const rows = tableOf('| schema | arguments | hidden |').map(([schema, args, hidden = '']) => ({
  schema: codeIn(schema)[0]!,
  args: codeIn(args)[0]!,
  expected: hidden.startsWith('refused') ? `refused at ${codeIn(hidden)[0]!}` : codeIn(hidden).join(' '),
}));

function hiddenBy(schema: JsonObject, args: JsonObject): string {
  const prepared = prepareSchema(schema);
  if (prepared.status === 'refused') return `refused at ${prepared.pointer}`;
  expect(checkValue(prepared.schema, args)).toEqual({ status: 'valid' });
  return sensitivePointers(args, markedPlaces(prepared.schema, createWork())).join(' ');
}

it('has a table to run', () => {
  expect(rows.length > 25).toBe(true);
});

it.each(rows)('$schema hides of $args: $expected', ({ schema, args, expected }) => {
  expect(hiddenBy(JSON.parse(schema) as JsonObject, JSON.parse(args) as JsonObject)).toBe(expected);
});

it('takes work by the size of schema and arguments, not by the number of ways through them', () => {
  // 10 branches a level, 60 levels: 10^60 ways.
  const anyOf = Array.from({ length: 10 }, () => ({ additionalProperties: { $ref: '#/$defs/x' } }));
  const schema = { $defs: { x: { anyOf }, y: { writeOnly: true } }, $ref: '#/$defs/x' } as JsonObject;
  const prepared = prepareSchema(schema);
  if (prepared.status === 'refused') throw new Error(prepared.reason);
  const args = JSON.parse(`${'{"a":'.repeat(60)}1${'}'.repeat(60)}`) as JsonObject;
  const search = createWork(20_000);
  expect(sensitivePointers(args, markedPlaces(prepared.schema, search))).toEqual([]);
  expect(search.left).toBeGreaterThan(0);
  const tooLittle = createWork(50);
  expect(sensitivePointers(args, markedPlaces(prepared.schema, tooLittle))).toEqual([]);
  expect(tooLittle.left).toBeLessThan(0);
  expect(checkValue(prepared.schema, args, createWork(20_000))).toEqual({ status: 'valid' });
});

it('a mark is one for the check of arguments and for the views alike', () => {
  const values = [
    true,
    false,
    null,
    1,
    0,
    'true',
    'TRUE',
    'yes',
    '1',
    '',
    'false',
    'no',
    {},
    [],
    'password',
    'Password',
  ];
  for (const name of ['sensitive', 'x-sensitive', 'writeOnly', 'format', 'readOnly']) {
    for (const value of values)
      expect([name, value, isMarkedSchema({ [name]: value })]).toEqual([name, value, hasMark({ [name]: value })]);
  }
});
