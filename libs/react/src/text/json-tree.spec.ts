import { describe, expect, it } from '@jest/globals';
import { summaryOf } from './json-tree.js';

describe('arguments on one line', () => {
  it('are the values, a text without quotes', () => {
    expect(summaryOf({ path: '/etc/hosts', recursive: true, n: 1.5 })).toBe(
      'path: /etc/hosts · recursive: true · n: 1.5',
    );
    expect(summaryOf({ when: '2026-01-01', text: 'a\nb', url: 'https://x.example' })).toBe(
      'when: 2026-01-01 · text: a ⏎ b · url: https://x.example',
    );
  });

  it.each([
    [{ a: true }, { a: 'true' }],
    [{ a: 5 }, { a: '5' }],
    [{ a: null }, { a: 'null' }],
    [{ a: ['x'] }, { a: '["x"]' }],
    [{ a: { b: 1 } }, { a: '{"b":1}' }],
    [{ a: 'x', b: 'y' }, { a: 'x · b: y' }],
    [{ a: 'b: x' }, { 'a: b': 'x' }],
    [{ a: '' }, { a: ' ' }],
  ])('%j does not read like %j', (one, other) => {
    expect(summaryOf(one)).not.toBe(summaryOf(other));
  });
});
