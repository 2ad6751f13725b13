import { actionDigest } from '@countersign/contracts';
import type { DigestInput, JsonObject, RecordedEvent } from '@countersign/contracts';
import { at, eventsOf } from './checker.ts';
import type { CreateChecker } from './checker.ts';

/** A call runs only if the policy allowed it or people approved it, with exactly these arguments. */
export const approvedDigest: CreateChecker = (site, fail) => ({
  onToolBegins: (run) => {
    const events = eventsOf(site, run.callId);
    const claimedAt = events.findLastIndex(
      (one) => one.type === 'ExecutionClaimed' && at(one, 'attempt') === run.attempt,
    );
    if (claimedAt === -1) {
      fail(`${run.toolName} runs for ${run.callId} without a recorded claim ${run.attempt}`);
      return;
    }
    const requested = events[0]?.data as unknown as DigestInput;
    const running = actionDigest({ ...requested, salt: requested.salt }, run.arguments);
    const permitted = permittedDigest(events.slice(0, claimedAt));
    if (permitted === undefined) fail(`${run.toolName} runs for ${run.callId}, which nothing permits`);
    else if (permitted !== running)
      fail(`${run.callId} runs with arguments ${JSON.stringify(run.arguments)} without an approval`);
  },
});

/**
 * The digest that may run after these events; undefined when none may. An edit may run only once it is approved: until
 * then the request is what the next question is about.
 */
function permittedDigest(events: readonly RecordedEvent[]): string | undefined {
  let requested: unknown;
  let proposed: unknown;
  let isPermitted = false;
  let wasPermitted = false;
  let digest: unknown;
  for (const event of events) {
    switch (event.type) {
      case 'ToolCallRequested':
        requested = at(event, 'actionDigest');
        digest = requested;
        break;
      case 'ToolCallAllowed':
        isPermitted = true;
        break;
      case 'ApprovalRequested':
        wasPermitted = isPermitted;
        isPermitted = false;
        digest = requested;
        proposed = requested;
        break;
      // The approval request came too late: the batch had begun on the earlier permission.
      case 'ToolCallCommitted':
        isPermitted ||= wasPermitted;
        break;
      case 'ResponseWithdrawn':
        if (at(event, 'ends') === 'proposal') proposed = requested;
        break;
      case 'ApprovalResponded':
        proposed = proposedBy(event) ?? proposed;
        isPermitted = at(event, 'resolution') === 'approved' && at(event, 'actionDigest') === proposed;
        if (isPermitted) digest = proposed;
        break;
      case 'ToolCallBlocked':
      case 'ToolCallCancelled':
      case 'ApprovalExpired':
      case 'ApprovalLapsed':
        isPermitted = false;
        break;
      default:
        break;
    }
  }
  return isPermitted && typeof digest === 'string' ? digest : undefined;
}

/** The digest that a response proposes; undefined for a vote about what is proposed already. */
function proposedBy(event: RecordedEvent): unknown {
  const { type } = at(event, 'decision') as JsonObject;
  return type === 'edit' || type === 'answer' ? at(event, 'actionDigest') : undefined;
}
