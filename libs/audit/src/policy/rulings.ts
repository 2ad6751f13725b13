import type { Paths, WrittenPolicy, WrittenRule } from './written-policy.js';
import type { Asked } from './written-requirement.js';

/** What a verdict that cites one rule may say of a call. */
export type Ruling =
  | { readonly outcome: 'allow' | 'block' }
  | {
      readonly outcome: 'require';
      readonly asked: Asked;
      /** False: other rules may count as well, so more may be asked. */
      readonly isAlone: boolean;
      /** Silence may deny where the rule lets it approve, because a rule before it might block the call. */
      readonly mayDeny: boolean;
      /** Why a standing grant covers no such call; undefined: one may. */
      readonly noGrant?: string;
      /** It asks because another call of the step is asked about. */
      readonly isOfStep?: true;
    };

/** A call in front of the rules. */
export interface RuledCall {
  /** People may be asked about it because the rule of another call of its step says so. */
  readonly mayJoin: boolean;
}

/**
 * What a verdict may say that cites this rule, by all that expressions could answer: true, false, or nothing. A rule that asks people,
 * and whose expression has no answer, counts together with the next one that matches; one that blocks lets a person decide.
 */
export function rulingsOf(policy: WrittenPolicy, paths: Paths, ruleId: string, { mayJoin }: RuledCall): Ruling[] {
  const { conditional, end } = paths;
  const at = [...conditional, end].findIndex((rule) => rule.ruleId === ruleId);
  const rule = conditional[at] ?? (at === -1 ? undefined : end);
  if (ruleId === 'needsApproval') return mayAllow(paths, 0) ? [onePerson(policy)] : [];
  const own = rule === undefined ? [] : ownRulings(policy, paths, rule, at);
  const joined = mayJoin && mayAllow(paths, 0) ? ofStep(policy.find(ruleId)) : [];
  return [...own, ...joined];
}

function ownRulings(policy: WrittenPolicy, paths: Paths, { then, isConditional }: WrittenRule, at: number): Ruling[] {
  if (then.outcome === 'allow') return [{ outcome: 'allow' }];
  if (then.outcome === 'block') {
    const blocks: Ruling = { outcome: 'block' };
    const doubt = 'the rule might block the call';
    return isConditional && mayAllow(paths, at + 1) ? [blocks, { ...onePerson(policy), noGrant: doubt }] : [blocks];
  }
  const mayDeny = paths.conditional.slice(0, at).some((before) => before.then.outcome === 'block');
  return [{ outcome: 'require', asked: then, isAlone: !isConditional, mayDeny }];
}

/** One approver: for a worker that wants one, or in place of a block that is in doubt. */
function onePerson({ onePerson: asked }: WrittenPolicy) {
  return { outcome: 'require', asked, isAlone: true, mayDeny: false } as const;
}

/** A rule asks about another call of the step, and so about this one, which its own rules allow. */
function ofStep(rule: WrittenRule | undefined): Ruling[] {
  if (rule?.then.outcome !== 'require') return [];
  return [{ outcome: 'require', asked: rule.then, isAlone: false, mayDeny: true, isOfStep: true }];
}

/** Returns whether the rules from this place on may allow the call. */
function mayAllow({ conditional, end }: Paths, from: number): boolean {
  return [...conditional.slice(from), end].some(({ then }) => then.outcome === 'allow');
}
