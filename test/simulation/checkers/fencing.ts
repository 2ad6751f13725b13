import { agentLeaseMs } from '../actors/agent.ts';
import { resolverLeaseMs } from '../roles/resolver.ts';
import { at, eventsOf } from './checker.ts';
import type { CreateChecker } from './checker.ts';

/** No tool begins after its lease is over, and what is recorded of an attempt is what that attempt saw. */
export const fencing: CreateChecker = (site, fail) => ({
  onToolBegins: ({ callId, attempt, startedAtMs, by }) => {
    const leaseMs = by.startsWith('agent') ? agentLeaseMs : resolverLeaseMs;
    const held = eventsOf(site, callId).findLast(
      (one) => /^ExecutionClaim/.test(one.type) && at(one, 'attempt') === attempt,
    );
    const lateMs = startedAtMs - Date.parse(held?.recordedAt ?? '') - leaseMs;
    if (lateMs > 0) fail(`${by} runs the tool of ${callId} ${lateMs} ms after its lease was over`);
  },
  onRecorded: (event) => {
    if (event.type !== 'ExecutionSucceeded' || at(event, 'executedBy') !== 'resolver') return;
    const output = at(event, 'output') as { callId?: string; attempt?: number };
    if (output.attempt !== at(event, 'attempt') || output.callId !== event.metadata.callId) {
      fail(
        `attempt ${String(at(event, 'attempt'))} of ${String(event.metadata.callId)} has the outcome of ${JSON.stringify(output)}`,
      );
    }
  },
});
