import type { RecordedEvent, RunEvent } from '@countersign/contracts';
import { runCancellationStream } from '@countersign/contracts';
import { isSettled } from '@countersign/domain';
import { at, eventsOf, requestOf } from './checker.ts';
import type { CreateChecker } from './checker.ts';
import { stateOf } from './every-request-ends.ts';

/**
 * A denial that ends the run is carried out: the calls that the same principal had open in it are cancelled, unless they
 * end otherwise first. A call that was cancelled never runs, and no late response revives it.
 */
export const denyEndsRun: CreateChecker = (site, fail) => {
  /** The calls that were open at each denial. */
  const denials = new Map<string, readonly string[]>();
  const openBeside = (denied: string): readonly string[] => {
    const { runId, requestedBy } = requestOf(eventsOf(site, denied)) ?? {};
    return [...site.world.log.streams.values()].flatMap((events) => {
      const request = requestOf(events);
      if (request === undefined || request.callId === denied || isSettled(stateOf(events))) return [];
      return request.runId === runId && request.requestedBy === requestedBy ? [request.callId] : [];
    });
  };
  return {
    onRecorded: (event) => {
      const callId = event.metadata.callId ?? '';
      if (event.type === 'ApprovalResponded' && at(event, 'endsRun') === true) {
        denials.set(String(at(event, 'approvalId')), openBeside(callId));
      }
      const before = eventsOf(site, callId).slice(0, event.revision);
      if (revives.has(event.type) && before.some(({ type }) => type === 'ToolCallCancelled')) {
        fail(`${event.type} was recorded of ${callId}, which was cancelled`);
      }
    },
    atEnd: () => {
      for (const [approvalId, open] of denials) {
        const [cancelled] = site.world.log.streams.get(runCancellationStream(`endRun:${approvalId}`)) ?? [];
        if (cancelled === undefined) return fail(`the denial of ${approvalId} did not end its run`);
        const listed = new Set((cancelled.data as RunEvent['data']).callIds);
        for (const callId of open.filter((one) => !listed.has(one))) {
          const before = eventsOf(site, callId).filter(({ position }) => position < cancelled.position);
          if (!isSettled(stateOf(before))) fail(`${callId} was left open by the denial of ${approvalId}`);
        }
      }
    },
  };
};

const revives = new Set<RecordedEvent['type']>(['ApprovalRequested', 'ApprovalResponded', 'ExecutionClaimed']);
