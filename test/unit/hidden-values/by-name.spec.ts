import { describe, expect, it } from '@jest/globals';
import { hiddenValues, maskAt, maskByName, sensitivePointers, unmask } from '@countersign/contracts';
import type { JsonObject } from '@countersign/contracts';
import { codeIn, tableOf } from './tables.js';

const names = tableOf('| rule | hidden | shown |').flatMap(([rule = '', hidden, shown]) => [
  ...codeIn(hidden).map((name) => [name, 'hidden', rule] as const),
  ...codeIn(shown).map((name) => [name, 'shown', rule] as const),
]);
const values = tableOf('| value | shown |').map(([value, shown]) => [codeIn(value)[0]!, codeIn(shown)[0]!] as const);
const salt = '00'.repeat(16);

it('has tables to run', () => {
  expect([names.length > 80, values.length > 10]).toEqual([true, true]);
});

describe('a name', () => {
  it.each(names)('%s is %s: %s', (name, expected, _rule) => {
    expect(maskByName({ [name]: 'x' })).toEqual({ [name]: expected === 'hidden' ? '[masked]' : 'x' });
    expect(sensitivePointers({ [name]: 'x' })).toEqual(expected === 'hidden' ? [`/${name}`] : []);
  });
});

describe('a value', () => {
  const read = (text: string) => JSON.parse(text) as JsonObject;
  it.each(values)('%s is shown as %s', (value, shown) => {
    expect(maskByName(read(value))).toEqual(read(shown));
    expect(maskByName({ text: value })).toEqual({ text: shown });
  });

  it.each(values)('%s is masked in arguments, counted, and restored in an edit', (value, shown) => {
    const args = { inner: read(value) };
    const pointers = sensitivePointers(args);
    const seen = maskAt(args, pointers, salt);
    expect(seen).toEqual({ inner: shown === value ? args.inner : expect.anything() });
    expect(JSON.stringify(seen).replaceAll(/ sha256:[0-9a-f]{16}/g, '')).toBe(JSON.stringify({ inner: read(shown) }));
    expect(hiddenValues(args, pointers).every(({ why }) => why === 'name')).toBe(true);
    expect(hiddenValues(args, pointers).length > 0).toBe(shown !== value);
    expect(unmask(seen, args, { salt })).toMatchObject({ arguments: args, foreign: [] });
  });
});

describe('a mask inside an edited text', () => {
  it.each([
    ['[{"name":"Authorization","value":"s3cret"}]', 'Authorization', 'Accept'],
    ['["Authorization","s3cret"]', 'Authorization', 'Accept'],
    ['{"password":"s3cret","user":"ann"}', 'ann', 'bob'],
    ['["cookie","s3cret"]', '"]', '","more"]'],
  ])('of %s hides what it stands for, also where %s becomes %s', (body, from, to) => {
    const args = { body };
    const seen = maskAt(args, [], salt);
    expect(seen.body).not.toContain('s3cret');
    const { arguments: edited, foreign, restored } = unmask({ body: seen.body.replace(from, to) }, args, { salt });
    expect(foreign).toEqual([]);
    expect(edited['body']).toContain('s3cret');
    expect(JSON.stringify(maskAt(edited, restored, salt))).not.toContain('s3cret');
  });
});

it('a text with a byte order mark is looked into', () => {
  expect(maskByName({ body: '\uFEFF{"token":"x"}' })).toEqual({ body: '\uFEFF{"token":"[masked]"}' });
});
