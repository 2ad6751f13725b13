import { join } from 'node:path';
import { expect, test } from '@jest/globals';

interface Counters {
  readonly s: Readonly<Record<string, number>>;
  readonly f: Readonly<Record<string, number>>;
  readonly b: Readonly<Record<string, readonly number[]>>;
}
const module = join(import.meta.dirname, '..', 'new-coverage.mjs');
const { keepNewCoverage } = (await import(module)) as { keepNewCoverage: (coverage: Record<string, Counters>) => void };

/** Returns the files that are left of the coverage of one spec. */
function keptOf(coverage: Record<string, Counters>): readonly string[] {
  keepNewCoverage(coverage);
  return Object.keys(coverage);
}

test('the first coverage of a file stays, also when nothing in it was reached', () => {
  expect(keptOf({ 'first.ts': { s: { 0: 0 }, f: {}, b: {} } })).toEqual(['first.ts']);
});

test('a file stays when a spec is the first one to reach a statement, a function or a branch of it', () => {
  const none = { s: { 0: 0, 1: 0 }, f: { 0: 0 }, b: { 0: [0, 0] } };
  const reaching: readonly Counters[] = [
    none,
    { ...none, s: { 0: 0, 1: 1 } },
    { ...none, f: { 0: 2 } },
    { ...none, b: { 0: [0, 1] } },
    { ...none, b: { 0: [1, 1] } },
  ];
  expect(reaching.map((counters) => keptOf({ 'later.ts': counters }))).toEqual(reaching.map(() => ['later.ts']));
});

test('a file in which earlier specs have reached all of it is removed, and the others stay', () => {
  const both = { s: { 0: 1, 1: 1 }, f: {}, b: {} };
  keptOf({ 'same.ts': { ...both, s: { 0: 1, 1: 0 } } });
  keptOf({ 'same.ts': { ...both, s: { 0: 0, 1: 3 } } });
  expect(keptOf({ 'same.ts': both, 'other.ts': both })).toEqual(['other.ts']);
});
