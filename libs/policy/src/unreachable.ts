import { matchesGlob } from '@countersign/contracts';
import type { Rule } from './rule.js';

/** A rule that no call can reach, because an earlier one matches all of its calls. */
export interface UnreachableRule {
  readonly ruleId: string;
  /** Its place among the rules, from 0. */
  readonly index: number;
  readonly coveredBy: string;
}

/** Finds the rules that can never match. Expressions are not compared: a rule with one covers no other. */
export function unreachableRules(rules: readonly Rule[]): readonly UnreachableRule[] {
  return rules.flatMap((rule, index) => {
    const earlier = rules.slice(0, index).find((one) => covers(one, rule));
    return earlier === undefined ? [] : [{ ruleId: rule.id, index, coveredBy: earlier.id }];
  });
}

function covers(earlier: Rule, later: Rule): boolean {
  return (
    earlier.when === null &&
    coverAll(earlier.tools, later.tools) &&
    coverAll(earlier.agents, later.agents) &&
    [...earlier.labels].every(([key, glob]) => {
      const inner = later.labels.get(key);
      return inner !== undefined && coversGlob(glob, inner);
    })
  );
}

function coverAll(outer: readonly string[] | null, inner: readonly string[] | null): boolean {
  if (outer === null) return true;
  return (inner ?? ['*']).every((one) => outer.some((glob) => coversGlob(glob, one)));
}

/** No name has it, so only a wildcard can match it. */
const anyCharacter = '\u0000';

/**
 * Returns whether every name that matches `inner` matches `outer`. The shortest and a long name of `inner` stand for
 * all of its names: a fixed part of `outer` can match only one of them.
 */
export function coversGlob(outer: string, inner: string): boolean {
  const shortest = inner.replaceAll('*', '').replaceAll('?', anyCharacter);
  const long = inner.replaceAll('*', anyCharacter.repeat(outer.length + 1)).replaceAll('?', anyCharacter);
  return matchesGlob(outer, shortest) && matchesGlob(outer, long);
}
