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

/** The digest that may run after these events; undefined when none may. */
function permittedDigest(events: readonly RecordedEvent[]): string | undefined {
  let digest: unknown;
  let isPermitted = false;
  let before: { readonly digest: unknown } | undefined;
  for (const event of events) {
    switch (event.type) {
      case 'ToolCallRequested':
        digest = at(event, 'actionDigest');
        break;
      case 'ToolCallAllowed':
        isPermitted = true;
        break;
      case 'ApprovalRequested':
        before = isPermitted ? { digest } : undefined;
        isPermitted = false;
        break;
      // The approval request came too late: the batch had begun on the earlier permission.
      case 'ToolCallCommitted':
        if (isPermitted || before === undefined) break;
        isPermitted = true;
        digest = before.digest;
        break;
      case 'ApprovalResponded':
        if ((at(event, 'decision') as JsonObject)['type'] === 'edit') digest = at(event, 'actionDigest');
        isPermitted = at(event, 'resolution') === 'approved' && at(event, 'actionDigest') === digest;
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
