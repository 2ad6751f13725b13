import { matchesGlob } from '@countersign/contracts';
import { celEngine } from '@countersign/cel';
import fc from 'fast-check';
import { loadPolicy } from './load-policy.js';
import { coversGlob, unreachableRules } from './unreachable.js';

function unreachable(...rules: readonly string[]): readonly string[] {
  const text = `version: 1\nrules: [${rules.join(', ')}]`;
  return unreachableRules(loadPolicy('p.yaml', text, celEngine).rules).map(
    ({ ruleId, coveredBy }) => `${ruleId} by ${coveredBy}`,
  );
}

describe('a rule that no call can reach', () => {
  it.each([
    [
      'the same globs',
      ['{ id: a, match: { tools: [x] }, then: allow }', '{ id: b, match: { tools: [x] }, then: allow }'],
    ],
    [
      'a wider glob',
      ['{ id: a, match: { tools: ["x_*"] }, then: allow }', '{ id: b, match: { tools: [x_1, "x_y*"] }, then: allow }'],
    ],
    ['no globs', ['{ id: a, then: allow }', "{ id: b, match: { agents: [c] }, when: 'true', then: allow }"]],
    [
      'fewer labels',
      [
        '{ id: a, match: { labels: { env: "*" } }, then: allow }',
        '{ id: b, match: { labels: { env: prod, team: x } }, then: allow }',
      ],
    ],
  ])('is found: %s', (_, rules) => {
    expect(unreachable(...rules)).toEqual(['b by a']);
  });

  it.each([
    ['an expression before it', ["{ id: a, when: 'true', then: allow }", '{ id: b, then: allow }']],
    [
      'a narrower glob',
      ['{ id: a, match: { tools: [x] }, then: allow }', '{ id: b, match: { tools: ["x*"] }, then: allow }'],
    ],
    [
      'one glob of two',
      ['{ id: a, match: { tools: [x] }, then: allow }', '{ id: b, match: { tools: [x, y] }, then: allow }'],
    ],
    ['every tool', ['{ id: a, match: { tools: [x] }, then: allow }', '{ id: b, then: allow }']],
    ['more labels', ['{ id: a, match: { labels: { env: prod } }, then: allow }', '{ id: b, then: allow }']],
  ])('is not found behind %s', (_, rules) => {
    expect(unreachable(...rules)).toEqual([]);
  });
});

describe('coversGlob', () => {
  it('is true only if every name of the inner glob matches the outer one', () => {
    const glob = fc
      .array(fc.constantFrom('a', 'b', '*', '?'), { minLength: 1, maxLength: 5 })
      .map((part) => part.join(''));
    const filler = fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 4 }).map((part) => part.join(''));
    fc.assert(
      fc.property(glob, glob, fc.array(filler, { minLength: 5, maxLength: 5 }), (outer, inner, fillers) => {
        fc.pre(coversGlob(outer, inner));
        let index = 0;
        const name = inner.replaceAll(/[*?]/g, (wildcard) => {
          const text = fillers[index] ?? '';
          index += 1;
          return wildcard === '?' ? (text[0] ?? 'c') : text;
        });
        expect(matchesGlob(inner, name)).toBe(true);
        expect(matchesGlob(outer, name)).toBe(true);
      }),
      { numRuns: 3000 },
    );
  });
});
