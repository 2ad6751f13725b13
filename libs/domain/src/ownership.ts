import { refused } from './decider.js';
import type { RuleResult } from './decider.js';
import type { ToolCall } from './tool-call.state.js';

/**
 * The calls that a command may act on. `own`: those that its principal requested; `any`: every call of the tenant. An
 * admin and the service itself have `any`.
 */
export type Reach = 'own' | 'any';

/** A recorded call, as far as its ownership is concerned. */
interface Owned {
  readonly request: Pick<ToolCall['request'], 'requestedBy'>;
}

/**
 * The rule of ownership: a call belongs to the principal that requested it. Principals are compared exactly: a name that
 * differs in case is another principal.
 * @returns the refusal `forbidden`; undefined when the principal may act on the call.
 */
export function notOwner({ request }: Owned, principal: string, reach: Reach): RuleResult<never> | undefined {
  if (reach === 'any' || request.requestedBy === principal) return undefined;
  // The detail names no principal, because the caller may not know the owner.
  return refused(
    'forbidden',
    'Another principal requested this tool call. Only that principal, or an admin, may do this.',
  );
}
