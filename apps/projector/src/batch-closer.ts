import type { EventView } from '@countersign/contracts';
import { isStoreOutage } from '@countersign/event-store';
import { parseEventMessage } from '@countersign/message-bus';
import type { MessageBus, Subscription } from '@countersign/message-bus';

/** What the batch closer stands on. */
export interface BatchCloserPorts {
  readonly bus: MessageBus;
  /** The topic of the recorded events. */
  readonly topic: string;
  /** Cancels the open siblings of a member that ended without running; harmless when there are none. */
  readonly closeBatch: (tenant: string, callId: string) => Promise<unknown>;
}

/** The events after which a call may have ended without running. An approval that was given is not among the cases below. */
const endings = ['ApprovalResponded', 'ApprovalExpired', 'ApprovalLapsed', 'ToolCallBlocked', 'ToolCallCancelled'];

/**
 * The process manager of all-or-nothing batches: whoever records that a member ended without running cancels its siblings
 * at once; this does it again, from a durable checkpoint, for those whose process died in between.
 */
export function createBatchCloser({ bus, topic, closeBatch }: BatchCloserPorts): Subscription {
  return bus.subscribe({
    group: 'batch-closer',
    topics: [topic],
    types: endings,
    onMessage: async (message) => {
      const event = parseEventMessage(message);
      if (event.callId === null || isApproval(event)) return;
      await closeBatch(event.tenant, event.callId);
    },
    isTransient: isStoreOutage,
  });
}

function isApproval({ type, data }: EventView): boolean {
  return type === 'ApprovalResponded' && data['resolution'] !== 'denied';
}
