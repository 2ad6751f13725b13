import type { Requirement } from '@countersign/contracts';
import type { PolicyContent } from './policy-file.js';
import { defaultRequirement } from './rule.js';
import type { Rule } from './rule.js';

/**
 * Returns the requirements that calls of a tool may have, by the rules whose tool globs match it, in their order. A
 * grant is given before there is a call. Empty when a rule blocks every call.
 */
export function askedOfTool({ defaults }: PolicyContent, rules: readonly Rule[]): readonly Requirement[] {
  const asked: Requirement[] = [];
  for (const { agents, labels, when, then } of rules) {
    if (then.outcome === 'require') asked.push(then.requirement);
    const isForEveryCall = agents === null && labels.size === 0 && when === null;
    if (isForEveryCall && then.outcome !== 'allow') return asked;
    if (isForEveryCall) break;
  }
  // Nothing else matches, or the worker asks for a person where the policy allows the call.
  return [...asked, defaultRequirement(defaults).requirement];
}
