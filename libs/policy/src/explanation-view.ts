import type { ExplanationView } from '@countersign/contracts';
import type { Explanation, RuleFinding } from './policy.js';

/**
 * An explanation for the author of the rules. It quotes what an expression's problem quotes, also arguments, because
 * the reader sent them.
 */
export function toExplanationView({ judgement, rules }: Explanation): ExplanationView {
  const { verdict, requirement } = judgement;
  return {
    verdict,
    requirement: verdict.outcome === 'require' ? requirement : null,
    rules: rules.map((rule) => ({
      ruleId: rule.ruleId,
      matched: rule.decides,
      failed: rule.status === 'failed',
      why: whyOf(rule),
    })),
    // Only a server can count.
    quotas: null,
  };
}

function whyOf({ why, detail }: RuleFinding): string {
  return detail === undefined || why.includes(detail) ? why : `${why}: ${detail}`;
}
