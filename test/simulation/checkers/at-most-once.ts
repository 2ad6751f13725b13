import type { RecordedEvent } from '@countersign/contracts';
import { at, eventsOf } from './checker.ts';
import type { CreateChecker } from './checker.ts';

/**
 * A tool that is not idempotent changes the world at most once, under all crashes and hangs; there is one claim at a
 * time; and a call is settled once.
 */
export const atMostOnce: CreateChecker = (site, fail) => ({
  onToolEffect: ({ callId, toolName }) => {
    const [requested] = eventsOf(site, callId);
    const count = site.outside.effectsOf(callId);
    if (requested !== undefined && at(requested, 'idempotent') !== true && count > 1) {
      fail(`${toolName} has happened ${count} times for ${callId}`);
    }
  },
  onRecorded: (event) => {
    const { callId } = event.metadata;
    if (callId === null) return;
    const before = eventsOf(site, callId).slice(0, event.revision);
    if (event.type === 'ExecutionClaimed') {
      const last = before.findLast(({ type }) => claims.has(type));
      if (last !== undefined && !frees(last)) fail(`${callId} is claimed again after ${last.type}`);
      const attempt = at(last ?? event, 'attempt');
      const attempts = before.filter(({ type }) => type === 'ExecutionClaimed').map((one) => at(one, 'attempt'));
      if (attempts.includes(at(event, 'attempt'))) fail(`attempt ${String(attempt)} of ${callId} is claimed twice`);
    }
    if (results.has(event.type)) {
      const other = before.find(({ type }) => results.has(type));
      if (other !== undefined) fail(`${callId} has two results: ${other.type} and ${event.type}`);
    }
  },
});

const results = new Set(['ExecutionSucceeded', 'ExecutionFailed']);
const claims = new Set([
  ...results,
  'ExecutionClaimed',
  'ExecutionLapsed',
  'ExecutionOutcomeUnknown',
  'ExecutionReconciled',
]);

/** Returns whether a call may be claimed again after this. */
function frees(event: RecordedEvent): boolean {
  return event.type === 'ExecutionLapsed' || (event.type === 'ExecutionReconciled' && at(event, 'status') === 'retry');
}
