import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import type { JsonObject, JsonValue } from '@countersign/contracts';
import { Arguments } from './arguments.js';

/** What is read: the words, and the rows and columns that they stand in. Colours and greys tell nothing. */
function readOf(value: JsonObject): string {
  return renderToStaticMarkup(createElement(Arguments, { value, hiddenValues: [] }))
    .replaceAll(/<\/?(?:span|mark|em|code)\b[^>]*>/g, '')
    .replaceAll(/<(\w+) [^>]*>/g, '<$1>');
}

const word = fc.constantFrom(
  ...['x', '1', 'true', 'null', '', '0', '#', '—', '[]', '{}', ',', '[“x”]', '“x”', '“x”, “x”', 'x”, “x', '[x]', ' '],
  ...['a\nb', 'a\r\nb', 'a\nb\r\nc', 'a\r\nb\nc', '2 lines, 3 characters, below', '[masked]'],
);
const plain = fc.oneof(word, fc.constantFrom<JsonValue>(1, 0, true, null));
const value = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    plain,
    fc.array(tie('value'), { maxLength: 2 }),
    fc.dictionary(word, tie('value'), { maxKeys: 2 }),
  ),
})).value;

const kept = ['1', '2', '3', '4'].join('\n');
/** Texts in the place of others; most of both is the same. */
const replacement = fc
  .record({ first: fc.constantFrom('a', 'b'), old: fc.constantFrom('x', 'y', ''), new: fc.constantFrom('x', 'y', '') })
  .map((one) => ({ before: [one.first, kept, one.old].join('\n'), after: [one.first, kept, one.new].join('\n') }));
const patchLine = fc.constantFrom(
  ...['--- a', ' --- a', '-- a', '-a', ' -a', '+++ a', ' +++ a', '+a', ' a', 'a', '', ' ', '  ', ' \t', '@@ -1 +1 @@'],
  ...[' @@ -1 +1 @@', '\\ No newline at end of file'],
);
const patch = fc.array(patchLine, { maxLength: 4 }).map((lines) => ['@@ -1,2 +1,2 @@', ...lines].join('\n'));
const blankText = fc
  .array(fc.constantFrom('', ' ', '\t', ' \t', '\t ', '    \t\t\t\t', '\t\t\t\t    '), { minLength: 2, maxLength: 5 })
  .map((lines) => ['a', ...lines, 'b'].join('\n'));

/** A value in so many others. */
function inside(levels: number, value: JsonValue): JsonValue {
  return levels === 0 ? value : { [`k${String(levels)}`]: inside(levels - 1, value) };
}

describe('the arguments on the card', () => {
  it('leave room for a value in many others', () => {
    const markup = renderToStaticMarkup(
      createElement(Arguments, { value: { all: inside(60, ['DELETE', 'EVERYTHING']) }, hiddenValues: [] }),
    );
    expect(markup.match(/<dl/g)?.length).toBeLessThan(6);
    expect(markup).toMatch(/\/k3\/k2\/k1<\/dt>.*DELETE/);
  });

  it.each<[JsonValue, JsonValue]>([
    [['x'], 'x'],
    [['x', 'y'], 'x”, “y'],
    [['x', 'y'], { 0: 'x', 1: 'y' }],
    [['x'.repeat(50)], { 0: 'x'.repeat(50) }],
    [{ a: { '': 1 } }, { a: { ' ': 1 } }],
    [['x”, “y'], ['x', 'y']],
    ['a\r\nb\nc', 'a\nb\r\nc'],
    [
      { old_string: `env: staging\n${kept}\nold`, new_string: `env: staging\n${kept}\nnew` },
      { old_string: `env: product\n${kept}\nold`, new_string: `env: product\n${kept}\nnew` },
    ],
    [
      { before: 'x\nDROP TABLE a;', after: 'x\nDROP TABLE a;' },
      { before: 'x\nSELECT * FR a', after: 'x\nSELECT * FR a' },
    ],
    [inside(9, [{ a: [1] }, 2]), inside(9, [{ a: { 0: 1 } }, 2])],
    [inside(9, { a: { b: 'x' } }), inside(9, { 'a/b': 'x' })],
    [inside(9, { a: { '[0]': 'x' } }), inside(9, { a: [['x', { b: 1 }]] })],
    [inside(9, { 'a"/"b': 'x' }), inside(9, { a: { '"b': 'x' } })],
    ['@@ -1,2 +1 @@\n--- a\n --- b', '@@ -1,2 +1 @@\n --- a\n--- b'],
    ['a\n\n \n\t\nb', 'a\n \n\n\t\nb'],
  ])('%j does not read like %j', (one, other) => {
    expect(readOf({ a: one })).not.toBe(readOf({ a: other }));
  });

  it('are read as themselves alone', () => {
    fc.assert(
      fc.property(value, value, (a, b) => {
        fc.pre(JSON.stringify(a) !== JSON.stringify(b));
        expect(readOf({ a })).not.toBe(readOf({ a: b }));
      }),
      { numRuns: 1000 },
    );
    // Every pair of many.
    const many = fc.sample(fc.oneof(value, replacement, patch, blankText), { numRuns: 3000, seed: 7 });
    const byRead = new Map<string, string>();
    for (const one of many) {
      const read = readOf({ a: one });
      expect([read, byRead.get(read) ?? JSON.stringify(one)]).toEqual([read, JSON.stringify(one)]);
      byRead.set(read, JSON.stringify(one));
    }
  });
});
