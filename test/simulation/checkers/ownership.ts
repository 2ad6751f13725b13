import type { RecordedEvent } from '@countersign/contracts';
import { at, eventsOf } from './checker.ts';
import type { CreateChecker } from './checker.ts';

/** Commands reserved to a requester come from the requester, an admin, or the service itself. */
export const ownership: CreateChecker = (site, fail) => ({
  onRecorded: (event) => {
    const asker = askerOf(event);
    const [requested] = eventsOf(site, event.metadata.callId ?? '');
    if (asker === undefined || requested === undefined) return;
    const owner = String(at(requested, 'requestedBy'));
    if (![owner, 'admin', 'countersign', 'policy'].includes(asker)) {
      fail(`${asker} caused ${event.type} of ${event.stream}, whose requester is ${owner}`);
    }
  },
});

function askerOf(event: RecordedEvent): string | undefined {
  if (event.type === 'ToolCallCancelled') return String(at(event, 'cancelledBy'));
  return event.type === 'ApprovalRequested' ? String(at(event, 'requestedBy')) : undefined;
}
