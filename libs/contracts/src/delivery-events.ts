import { z } from 'zod';
import { timeSchema } from './primitives.js';

export const notificationKinds = [
  'requested',
  'reminder',
  'approved',
  'denied',
  'expired',
  'cancelled',
  'blocked',
  'succeeded',
  'failed',
  'unknown',
] as const;

/** What a message tells: that people are asked, asked again, or how it ended. */
export type NotificationKind = (typeof notificationKinds)[number];

/** Which message: the same values are the same message, so that a repeat is recognised. */
const message = {
  /** Null for a call that nobody was asked about. */
  approvalId: z.string().nullable(),
  channelId: z.string(),
  kind: z.enum(notificationKinds),
  /** 1 for the first reminder; 0 for every other kind. */
  nth: z.int().min(0),
  /** The person that it is addressed to; null where a channel shows it to all. */
  recipient: z.string().nullable(),
};

/** A message reached a channel. */
export const notificationDeliveredSchema = z.strictObject({
  ...message,
  /** How the channel names its copy, where it can be changed later; else null. */
  messageRef: z.string().nullable(),
  /** Names the state that the copy shows, so that an outdated one is found. */
  shows: z.string(),
  deliveredAt: timeSchema,
});

/** A copy that a channel holds was changed to what is true now. */
export const notificationUpdatedSchema = z.strictObject({
  ...message,
  messageRef: z.string(),
  shows: z.string(),
  updatedAt: timeSchema,
});

/** A channel did not take a message, or a change of one. */
export const notificationFailedSchema = z.strictObject({
  ...message,
  /** 1 for the first try. */
  attempt: z.int().min(1),
  reason: z.string(),
  /** Null: it is given up. */
  nextAttemptAt: timeSchema.nullable(),
  failedAt: timeSchema,
});

/** One of several notifiers takes the sending of a message; the others leave it alone until the lease is over. */
export const notificationClaimedSchema = z.strictObject({
  ...message,
  notifierId: z.string(),
  claimedAt: timeSchema,
  leaseUntil: timeSchema,
});

/** From here on a channel is told how calls end: what ended before it was configured is no news. */
export const channelActivatedSchema = z.strictObject({ channelId: z.string(), activatedAt: timeSchema });

/** The other side of a channel wants no message any more (a webhook answered 410): that holds until its address changes. */
export const channelSwitchedOffSchema = z.strictObject({
  channelId: z.string(),
  /** Names the address that said so; it tells nothing of it. */
  endpoint: z.string(),
  reason: z.string(),
  switchedOffAt: timeSchema,
});

/** The stored format of every event of the streams `delivery-<approvalId>` and `channel-<channelId>`, by type. */
export const deliveryEventSchemas = {
  NotificationDelivered: notificationDeliveredSchema,
  NotificationUpdated: notificationUpdatedSchema,
  NotificationFailed: notificationFailedSchema,
  NotificationClaimed: notificationClaimedSchema,
  ChannelActivated: channelActivatedSchema,
  ChannelSwitchedOff: channelSwitchedOffSchema,
} as const;

/** The name of a delivery's event. */
type DeliveryEventType = keyof typeof deliveryEventSchemas;

export const deliveryEventTypes = Object.keys(deliveryEventSchemas) as DeliveryEventType[];

/** What was sent to people, and what became of it. Kept apart from the call, so that it never conflicts with a decision. */
export type DeliveryEvent = {
  [T in DeliveryEventType]: { readonly type: T; readonly data: z.infer<(typeof deliveryEventSchemas)[T]> };
}[DeliveryEventType];

/** The stream of what was sent about an approval; of a call that nobody was asked about, by its callId. */
export function deliveryStream(subject: { readonly approvalId: string | null; readonly callId: string }): string {
  return `delivery-${subject.approvalId ?? subject.callId}`;
}

/** The stream of what concerns a channel as a whole. */
export function channelStream(channelId: string): string {
  return `channel-${channelId}`;
}
