import type { EventView } from '@countersign/contracts';
import { isStoreOutage } from '@countersign/event-store';
import { parseEventMessage } from '@countersign/message-bus';
import type { MessageBus, Subscription } from '@countersign/message-bus';
import { ViewsBehindError } from '@countersign/shell';

/** The dependencies of the batch closer. */
export interface BatchCloserPorts {
  readonly bus: MessageBus;
  /** The topic of the recorded events. */
  readonly topic: string;
  /** Brings the batch of a member in line with its word; harmless when there is nothing to do. */
  readonly closeBatch: (tenant: string, callId: string) => Promise<unknown>;
  /** Ends the run of a denied call if its rule says so; harmless to repeat. */
  readonly endRun: (tenant: string, callId: string) => Promise<void>;
  /** Cancels what runs inside a cancelled call; harmless to repeat. */
  readonly endInside: (tenant: string, callId: string) => Promise<void>;
}

/**
 * The events after which the batch of a call may have to be closed: a word that was recorded, ends of members, and a question
 * about a call that had been allowed. An approval that was given is not among the cases below.
 */
const concerning = [
  'BatchBroken',
  'ApprovalRequested',
  'ApprovalResponded',
  'ApprovalExpired',
  'ApprovalLapsed',
  'ToolCallBlocked',
  'ToolCallCancelled',
];

/**
 * The process manager of all-or-nothing batches. The process that ends a member closes the batch at once. This one does
 * it again, from a durable checkpoint, in case that process crashed in between. It also carries out the denials that
 * end a run, and ends what runs inside a cancelled call: a group of its own would need rights of its own in Kafka.
 */
export function createBatchCloser({ bus, topic, closeBatch, endRun, endInside }: BatchCloserPorts): Subscription {
  return bus.subscribe({
    group: 'batch-closer',
    topics: [topic],
    types: concerning,
    concerns: ({ metadata: { callId }, ...event }) => memberOf({ ...event, callId }) !== undefined,
    onMessage: async (message) => {
      const event = parseEventMessage(message);
      const callId = memberOf(event);
      if (callId === undefined) return;
      await closeBatch(event.tenant, callId);
      if (event.data['endsRun'] === true) await endRun(event.tenant, callId);
      if (event.type === 'ToolCallCancelled') await endInside(event.tenant, callId);
    },
    isTransient: (error) => isStoreOutage(error) || error instanceof ViewsBehindError,
  });
}

/** The member whose batch is to be looked at. */
function memberOf({
  type,
  callId,
  revision,
  data,
}: Pick<EventView, 'type' | 'callId' | 'revision' | 'data'>): string | undefined {
  switch (type) {
    case 'BatchBroken':
      return typeof data['callId'] === 'string' ? data['callId'] : undefined;
    case 'ApprovalRequested':
      // The first approval is recorded with the request, so only a later one can come after the batch has begun.
      return revision > 1 ? (callId ?? undefined) : undefined;
    case 'ApprovalResponded':
      return data['resolution'] === 'denied' ? (callId ?? undefined) : undefined;
    default:
      return callId ?? undefined;
  }
}
