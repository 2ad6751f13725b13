import type { EventView } from '@countersign/contracts';
import { topicNames } from '@countersign/message-bus';
import type { Message, Subscription } from '@countersign/message-bus';
import type { Parts } from './parts.js';

/** The events after which a call may have ended without running. An approval that was given is not among the cases below. */
const endings = ['ApprovalResponded', 'ApprovalExpired', 'ApprovalLapsed', 'ToolCallBlocked', 'ToolCallCancelled'];

/**
 * The process manager of all-or-nothing batches: whoever records that a member ended without running cancels its siblings
 * at once; this does it again, from a durable checkpoint, for those whose process died in between.
 */
export function startBatchCloser({ bus, commands }: Pick<Parts, 'bus' | 'commands'>): Subscription {
  return bus.subscribe({
    group: 'batch-closer',
    topics: [topicNames().events],
    types: endings,
    onMessage: async (message: Message) => {
      const event = JSON.parse(Buffer.from(message.value).toString()) as EventView;
      if (event.callId === null || isApproval(event)) return;
      await commands.closeBatch(event.tenant, event.callId);
    },
    // The only thing that can go wrong is that the log cannot be written now.
    isTransient: () => true,
  });
}

function isApproval({ type, data }: EventView): boolean {
  return type === 'ApprovalResponded' && data['resolution'] !== 'denied';
}
