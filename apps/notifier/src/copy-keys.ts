import { stateShown } from '@countersign/channels';
import type { Channel } from '@countersign/channels';
import type { EventView } from '@countersign/contracts';
import type { Approval, MessageKey } from '@countersign/domain';
import type { CallRow } from '@countersign/read-model';
import type { DeliveryLog } from './delivery-log.js';
import { noticeOf, subjectOf } from './notice.js';
import { outcomesOf } from './wanted-messages.js';

/** The copies that an event made outdated and, where a channel wants it, a message with the outcome. */
export async function copyKeys(
  deliveries: DeliveryLog,
  event: EventView,
  call: CallRow,
  approval: Approval | null,
  channel: Channel,
): Promise<readonly MessageKey[]> {
  if (approval === null || channel.update === undefined) return [];
  const sent = await deliveries.load(subjectOf(call, approval.approvalId));
  if (sent === undefined) return [];
  const what = { messageId: '', kind: 'requested', nth: 0, recipient: null } as const;
  const now = stateShown(noticeOf(call, approval, what));
  const copies = [...sent.values()].filter(
    ({ channelId, kind, status }) =>
      channelId === channel.id && status === 'delivered' && (kind === 'requested' || kind === 'reminder'),
  );
  const outdated = copies
    .filter(({ shows }) => shows !== now)
    .map(({ channelId, kind, nth, recipient }) => ({ channelId, kind, nth, recipient }));
  if (copies.length === 0 || !channel.tellsOutcomeBelow) return outdated;
  const outcomes = outcomesOf(event).map((kind) => ({ channelId: channel.id, kind, nth: 0, recipient: null }));
  return [...outdated, ...outcomes];
}
