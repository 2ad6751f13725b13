import { describe, expect, it } from '@jest/globals';
import { Parser } from 'commonmark';
import fc from 'fast-check';
import { inCode, linesOf } from './markdown.js';
import { printable } from './marks.js';

const signs = fc.constantFrom('`', '``', ' ', '\\', '*', '_', '<!--', '-->', '[a](b)', '<b>', '&amp;', '$x$', 'a', '~');
const lineOf = fc
  .array(signs, { minLength: 1, maxLength: 12 })
  .map((parts) => printable(parts.join('').replaceAll(/ +/g, ' ')));

/** The texts and the code of a message, and the kinds of all its other pieces. */
function piecesOf(message: string): readonly unknown[] {
  const pieces: unknown[] = [];
  const walker = new Parser().parse(message).walker();
  for (let step = walker.next(); step !== null; step = walker.next()) {
    const { type, literal } = step.node;
    if (step.entering && (type !== 'text' || literal?.trim() !== ''))
      pieces.push(literal === null ? type : { [type]: literal });
  }
  return pieces;
}

describe('a foreign line in Markdown', () => {
  it('is code, character for character', () => {
    fc.assert(
      fc.property(fc.array(lineOf, { minLength: 1, maxLength: 4 }), (lines) => {
        const pieces = piecesOf(linesOf(lines.map((line) => `Label: ${inCode(line)}`)));
        const shown = lines.flatMap((line) => [{ text: 'Label: ' }, { code: line }, 'linebreak']).slice(0, -1);
        expect(pieces).toEqual(['document', 'paragraph', ...shown]);
      }),
    );
  });

  it('stays a line of its own', () => {
    expect(linesOf([`Tool: ${inCode('a')}`, `Agent: ${inCode('b')}`])).toBe('Tool: `a`  \nAgent: `b`');
    expect(inCode('')).toBe('');
  });

  it('has its spaces where a page shows one of several', () => {
    expect(inCode('/srv/a  b')).toBe('`/srv/a⟦2 spaces⟧b`');
  });
});
