import { describe, expect, it } from '@jest/globals';
import { argumentLines } from './argument-lines.js';
import { look } from './visible.js';

const shown = (text: string) => argumentLines({ text }, 10_000).lines[1];

describe('a foreign text in a message', () => {
  it('has its marks counted: letters that pose, and what would not have been seen', () => {
    expect(look('/\u0435tc\u202e\u0338/\u0430')).toEqual({
      text: '/⟦U+0435⟧tc⟦U+202E⟧⟦U+0338⟧/⟦U+0430⟧',
      posing: 2,
      hidden: 2,
    });
  });
});

describe('a string among the arguments', () => {
  it('is one line, with the escapes of JSON', () => {
    expect(shown('a\tb\r\n"c\\')).toBe('  "text": "a\\tb\\r\\n\\"c\\\\"');
  });

  it('lets nothing cling to its escapes and quotes', () => {
    expect(shown('\u0338a"\u0338\n\u0338')).toBe('  "text": "⟦U+0338⟧a\\"⟦U+0338⟧\\n⟦U+0338⟧"');
  });

  it('is judged line by line and in the whole: a line is no cover for another', () => {
    expect(shown('Привет\nhttps://\u0430\u0440\u0440.com')).toContain('⟦U+0430⟧⟦U+0440⟧⟦U+0440⟧.com');
    expect(shown('copy\n\u0440\u0430\u0443')).toContain('\\n⟦U+0440⟧⟦U+0430⟧⟦U+0443⟧');
    expect(shown('Привет,\nмир')).toBe('  "text": "Привет,\\nмир"');
  });
});
