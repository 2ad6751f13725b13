import type { Requirement } from '@countersign/contracts';
import { joined } from './joined.js';
import type { Asked, Rule, Then } from './rule.js';

/** The effect on a call, and why. */
export interface Ruled {
  readonly then: Then;
  readonly ruleId: string;
  readonly why: readonly string[];
  readonly mightBeBlockedBy?: string;
}

/** A rule that asks people, and whose expression has no answer. */
export interface Unsure {
  readonly ruleId: string;
  readonly asked: Asked;
}

/**
 * Rules that ask people, and whose expressions have no answer, count as matched. The next match counts as well, because
 * they might not match: it may ask more people, or block. Attack: an argument on which the expression of a light rule
 * fails, so that the strict rule after it is never reached.
 */
export function withUnsure(matched: Ruled, unsure: readonly Unsure[], why: readonly string[]): Ruled {
  const [first, ...others] = unsure;
  const { then, ruleId } = matched;
  if (first === undefined || then.outcome === 'block') return matched;
  const asked = others.reduce((before, { asked: more }) => joined(before, more), first.asked);
  if (then.outcome === 'allow') return { then: { outcome: 'require', ...asked }, ruleId: first.ruleId, why };
  const words = `rule "${ruleId}" counts too, because "${first.ruleId}" might not match`;
  return { then: { outcome: 'require', ...joined(asked, then) }, ruleId: first.ruleId, why: [...matched.why, words] };
}

/** Where a possible block was not decided, only a person approves: no answer in time never does. */
export function deniedBySilence({ then, why, ...ruled }: Ruled, { id }: Rule): Ruled {
  if (then.outcome !== 'require' || then.requirement.onTimeout !== 'allow') return { then, why, ...ruled };
  const silence = `no answer in time means denied, because "${id}" might block the call`;
  const requirement: Requirement = { ...then.requirement, onTimeout: 'deny' };
  return { ...ruled, then: { ...then, requirement }, why: [...why, silence] };
}
