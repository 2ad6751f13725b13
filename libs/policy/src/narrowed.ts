import { decisionTypes } from '@countersign/contracts';
import type { DecisionType, DurationMs, Requirement } from '@countersign/contracts';
import type { PolicyCall } from './policy-call.js';
import type { Asked } from './rule.js';

/** The requirement of a rule for the calls that wish nothing, as nearly every call: one object for all of them. */
const withoutWishes = new WeakMap<Requirement, Requirement>();

/** The request's wishes narrow the rule's requirement and never widen it. */
export function narrowed(asked: Asked, call: PolicyCall): Requirement {
  if (call.allowedDecisions !== null || call.expiresInMs !== null) return narrow(asked, call);
  const known = withoutWishes.get(asked.requirement);
  if (known !== undefined) return known;
  const requirement = narrow(asked, call);
  withoutWishes.set(asked.requirement, requirement);
  return requirement;
}

function narrow(asked: Asked, call: PolicyCall): Requirement {
  const { requirement } = asked;
  return { ...requirement, allowedDecisions: decisionsOf(requirement, call), expiresInMs: expiryOf(asked, call) };
}

/**
 * Attack: an agent that removes `deny`, so that its call can only be approved. A person can always deny. Where the rule permits
 * none of the wished decisions, nothing else is left: no decision is permitted by both.
 */
function decisionsOf({ allowedDecisions }: Requirement, call: PolicyCall): DecisionType[] {
  const wanted = call.allowedDecisions ?? decisionTypes;
  return decisionTypes.filter(
    (decision) => decision === 'deny' || (allowedDecisions.includes(decision) && wanted.includes(decision)),
  );
}

/**
 * Attack: an agent keeps its request open until a person approves. A request can only shorten the policy's timeout.
 * Attack: an agent shortens it, so that silence approves, or the escalation asks other people, before the first ones
 * can look. So a request shortens a timeout only where its end is a denial.
 */
function expiryOf({ requirement, isExpirySet }: Asked, { expiresInMs: wanted }: PolicyCall): DurationMs {
  const { expiresInMs, onTimeout } = requirement;
  if (wanted === null || onTimeout !== 'deny') return expiresInMs;
  if (!isExpirySet || expiresInMs === 'never') return wanted;
  return wanted === 'never' ? expiresInMs : Math.min(wanted, expiresInMs);
}
