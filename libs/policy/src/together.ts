import type { Requirement } from '@countersign/contracts';
import { joined } from './joined.js';
import { narrowed } from './narrowed.js';
import type { PolicyCall } from './policy-call.js';

/**
 * What several rules require of one call, as one requirement that is satisfied only where each of them is. The wishes of the
 * request narrow it as they narrow a rule.
 */
export function together(requirements: readonly [Requirement, ...Requirement[]], call: PolicyCall): Requirement {
  const [first, ...others] = requirements;
  const asAsked = (requirement: Requirement) => ({ requirement, isExpirySet: true });
  return narrowed(
    others.reduce((before, other) => joined(before, asAsked(other)), asAsked(first)),
    call,
  );
}
