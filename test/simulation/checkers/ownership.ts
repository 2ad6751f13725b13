import type { EventData, RecordedEvent } from '@countersign/contracts';
import { batchStream } from '@countersign/contracts';
import type { Site } from '../world/cluster.ts';
import { at, eventsOf, requestOf } from './checker.ts';
import type { CreateChecker } from './checker.ts';

/**
 * Commands reserved to a requester come from the requester, an admin, or the service itself. A person whose denial broke
 * the batch of a call has cancelled it as well.
 */
export const ownership: CreateChecker = (site, fail) => ({
  onRecorded: (event) => {
    const asker = askerOf(event);
    const request = requestOf(eventsOf(site, event.metadata.callId ?? ''));
    if (asker === undefined || request === undefined) return;
    const owner = request.requestedBy;
    if ([owner, 'admin', 'countersign', 'policy'].includes(asker)) return;
    if (event.type === 'ToolCallCancelled' && asker === denierOf(site, request)) return;
    fail(`${asker} caused ${event.type} of ${event.stream}, whose requester is ${owner}`);
  },
});

function askerOf(event: RecordedEvent): string | undefined {
  if (event.type === 'ToolCallCancelled') return String(at(event, 'cancelledBy'));
  return event.type === 'ApprovalRequested' ? String(at(event, 'requestedBy')) : undefined;
}

/** The person whose denial of this call broke its batch. */
function denierOf({ world }: Site, request: EventData<'ToolCallRequested'>): unknown {
  const [word] = world.log.streams.get(batchStream(request)) ?? [];
  const isDenial = word?.type === 'BatchBroken' && at(word, 'state') === 'denied';
  return isDenial && at(word, 'callId') === request.callId ? at(word, 'brokenBy') : undefined;
}
