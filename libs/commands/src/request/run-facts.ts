import type { PolicyCall } from '@countersign/policy';
import type { CommandPorts } from '../ports.js';

/**
 * The calls of one step with what is known of their run, where an expression of the policy may look at it. Each call counts
 * those of the step before it: otherwise a step of 256 calls would pass a rule that counts. `recorded`: the id of the call, where it
 * is recorded and must not count itself and those after it.
 */
export function withRunFacts(
  { asking, policies }: CommandPorts,
  tenant: string,
  calls: readonly PolicyCall[],
  recorded?: string,
): readonly PolicyCall[] {
  const [first] = calls;
  if (first === undefined || asking === undefined || !policies.of(tenant).usesRun) return calls;
  const facts = asking.history.factsOfRun(tenant, first.runId, recorded);
  return calls.map((call, index) => ({ ...call, run: { ...facts, calls: facts.calls + index } }));
}
