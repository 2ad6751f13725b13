import { z } from 'zod';
import { timeSchema } from './primitives.js';

export const notificationKinds = [
  'requested',
  'reminder',
  'digest',
  'approved',
  'denied',
  'expired',
  'cancelled',
  'blocked',
  'succeeded',
  'failed',
  'unknown',
] as const;

/** The kind of a message: a request, a reminder, one of a list of requests, or an outcome. */
export type NotificationKind = (typeof notificationKinds)[number];
const notificationKindSchema = z.enum(notificationKinds).meta({ id: 'NotificationKind' });

/** The identity of a message: the same values are the same message, so a duplicate is recognised. */
const message = {
  /** Null for a call without an approval. */
  approvalId: z.string().nullable(),
  channelId: z.string(),
  kind: notificationKindSchema,
  /** 1 for the first reminder; for a digest, when it was due, in seconds since 1970; 0 for every other kind. */
  nth: z.int().min(0),
  /** The person that it is addressed to; null where a channel shows it to all. */
  recipient: z.string().nullable(),
};

/** A message reached a channel. */
export const notificationDeliveredSchema = z.strictObject({
  ...message,
  /** The channel's id of its copy, if it can be updated later; otherwise null. */
  messageRef: z.string().nullable(),
  /** Identifies the state that the copy shows, so that an outdated copy is found. */
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

/** A channel failed to send or to update a message. */
export const notificationFailedSchema = z.strictObject({
  ...message,
  /** 1 for the first try. */
  attempt: z.int().min(1),
  reason: z.string(),
  /** Null: no further try. */
  nextAttemptAt: timeSchema.nullable(),
  failedAt: timeSchema,
});

/** A notifier claims the sending of a message; the others wait until the lease is over. */
export const notificationClaimedSchema = z.strictObject({
  ...message,
  notifierId: z.string(),
  claimedAt: timeSchema,
  leaseUntil: timeSchema,
});

/** From here on a channel receives outcomes. Earlier outcomes are not sent. */
export const channelActivatedSchema = z.strictObject({ channelId: z.string(), activatedAt: timeSchema });

/** The other side wants no more messages (a webhook answered 410). It stays so until the channel's address changes. */
export const channelSwitchedOffSchema = z.strictObject({
  channelId: z.string(),
  /** Identifies that address without revealing it. */
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

/** The sent messages and their results. Stored apart from the call, so that they never conflict with a decision. */
export type DeliveryEvent = {
  [T in DeliveryEventType]: { readonly type: T; readonly data: z.infer<(typeof deliveryEventSchemas)[T]> };
}[DeliveryEventType];

/** The stream of messages about an approval; for a call without one, by its callId. */
export function deliveryStream(subject: { readonly approvalId: string | null; readonly callId: string }): string {
  return `delivery-${subject.approvalId ?? subject.callId}`;
}

/** The stream of what concerns a channel as a whole. */
export function channelStream(channelId: string): string {
  return `channel-${channelId}`;
}
