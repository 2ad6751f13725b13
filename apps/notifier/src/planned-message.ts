import { stateShown } from '@countersign/channels';
import type { Channel, ChannelsConfig, Notice, PeopleNow, Person, SendResult } from '@countersign/channels';
import type { DeliveryEvent } from '@countersign/contracts';
import { keyText } from '@countersign/domain';
import type { Deliveries, Delivery, MessageKey } from '@countersign/domain';
import { uuidV5 } from '@countersign/runtime';
import type { Clock } from '@countersign/runtime';
import { dataOf } from './delivery-log.js';
import type { DeliveryLog, Subject } from './delivery-log.js';
import { approvalOf, noticeOf, readCall, subjectOf } from './notice.js';
import type { CallSource } from './notice.js';
import { wholeQuestion } from './step-question.js';
import { earlierDueMs } from './message-order.js';
import { isAnnounced, isStillAsked } from './wanted-messages.js';

/** One message to bring up to date: to send, to update, or to leave. */
export interface Job {
  readonly callId: string;
  readonly approvalId: string | null;
  readonly key: MessageKey;
  /** When it was due; null: at once. */
  readonly dueAtMs: number | null;
  /** A retry of a failed message: not before the recorded time. */
  readonly isRetry?: true;
}

/** The next action for one job. */
export interface PlannedMessage {
  readonly job: Job;
  readonly subject: Subject;
  readonly notice: Notice;
  readonly before: Delivery | undefined;
  /** The copy to update; undefined: none exists. */
  readonly messageRef: string | undefined;
  readonly inReplyTo: string | undefined;
  /** When an earlier message about the same approval is tried again, in epoch ms; null: none is left to send. */
  readonly waitsUntilMs: number | null;
}

/** The namespace of message ids. */
const messageIds = '5a1d2f4e-7c55-5d0b-9c39-0e6f3a3f3b11';

/** Returns the action for a job according to the event store; undefined: none. */
export async function planMessage(
  job: Job,
  channel: Channel,
  ports: CallSource & {
    readonly deliveries: DeliveryLog;
    readonly people: PeopleNow;
    readonly routes: ChannelsConfig['routes'];
    readonly tenant: string;
    readonly clock: Pick<Clock, 'now'>;
    /** Looks at a job again at a time. */
    readonly later: (job: Job, dueAtMs: number) => void;
  },
): Promise<PlannedMessage | undefined> {
  const call = await readCall(ports, ports.tenant, job.callId);
  if (call === undefined) return undefined;
  const { kind, nth, recipient: recipientId } = job.key;
  const recipient = ports.people().find(({ id }) => id === recipientId) ?? null;
  const subject = subjectOf(call, job.approvalId);
  const sent = await ports.deliveries.load(subject);
  // A record that cannot be read may say that the message was sent. A person who was removed gets no more messages.
  if (sent === undefined || isGone(recipientId, recipient)) return undefined;
  const approval = approvalOf(call, job.approvalId);
  const messageId = uuidV5(messageIds, `${job.approvalId ?? job.callId}:${keyText(job.key)}`);
  const what = { messageId, kind, nth, recipient };
  const notice = noticeOf(call, approval, what);
  const announced = isAnnounced(call, approval, channel, ports);
  const whole = await wholeQuestion(call, approval, notice, channel, {
    ...ports,
    later: (dueAtMs) => {
      ports.later(job, dueAtMs);
    },
  });
  if (!isWanted(channel, job, whole, notice, sent, announced)) return undefined;
  if (!isStillAsked(call, approval, job.key, ports)) return undefined;
  const before = sent.get(keyText(job.key));
  const waitsUntilMs = earlierDueMs(job.key, sent, announced, ports.clock.now());
  const copies = { messageRef: refOf(before), inReplyTo: refOf(questionCopy(sent, job.key)) };
  const shown = (await noticeAsRequested(job, channel, notice, ports)) ?? whole ?? notice;
  return { job, subject, before, waitsUntilMs, ...copies, notice: shown };
}

/** A request that was decided meanwhile as it was: for a reader whose message cannot be changed later. */
async function noticeAsRequested(
  { callId, approvalId, key }: Job,
  channel: Channel,
  { messageId, kind, nth, approval, recipient }: Notice,
  { tenant, ...source }: CallSource & { readonly tenant: string },
): Promise<Notice | undefined> {
  if (key.kind !== 'requested' || approval?.state === 'pending' || channel.update !== undefined) return undefined;
  const call = await readCall(source, tenant, callId, approvalId);
  return call && noticeOf(call, approvalOf(call, approvalId), { messageId, kind, nth, recipient });
}

/** `whole`: the question with its step; undefined: another message asks, so only a copy that was sent is brought up to date. */
function isWanted(
  channel: Channel,
  job: Job,
  whole: Notice | undefined,
  own: Notice,
  sent: Deliveries,
  announced: boolean,
): boolean {
  if (whole === undefined && !sent.has(keyText(job.key))) return false;
  const notice = whole ?? own;
  if (job.key.kind === 'digest') return notice.approval?.state === 'pending' && !isListed(job.key, sent);
  return isNeeded(channel, job, notice, sent, announced);
}

function isGone(recipientId: string | null, recipient: Person | null): boolean {
  return recipientId !== null && recipient === null;
}

/** The record of what became of an action. */
export function toEvent(
  { subject, job, notice, messageRef }: PlannedMessage,
  result: Exclude<SendResult, { status: 'failed' }>,
  at: string,
): DeliveryEvent {
  const data = dataOf(subject, job.key);
  const shows = stateShown(notice);
  if (result.status !== 'delivered') {
    return {
      type: 'NotificationFailed',
      data: { ...data, attempt: 1, reason: result.reason, nextAttemptAt: null, failedAt: at },
    };
  }
  return messageRef === undefined
    ? { type: 'NotificationDelivered', data: { ...data, messageRef: result.messageRef, shows, deliveredAt: at } }
    : { type: 'NotificationUpdated', data: { ...data, messageRef, shows, updatedAt: at } };
}

function refOf(delivery: Delivery | undefined): string | undefined {
  return delivery?.messageRef ?? undefined;
}

function questionCopy(sent: Deliveries, { channelId, recipient }: MessageKey): Delivery | undefined {
  return sent.get(keyText({ channelId, kind: 'requested', nth: 0, recipient }));
}

/** Returns whether anything must be sent or updated. After a "no" a job is not looked at again without a new event. */
function isNeeded(channel: Channel, job: Job, notice: Notice, sent: Deliveries, announced: boolean): boolean {
  const { key } = job;
  const before = sent.get(keyText(key));
  const isQuestion = key.kind === 'requested' || key.kind === 'reminder';
  switch (before?.status) {
    case 'delivered':
      return isQuestion && isOutdated(channel, notice, before);
    case 'given-up':
      return false;
    case 'claimed':
    case 'failed':
    case undefined:
      return !isQuestion || isAsked(job, notice, sent, announced);
  }
}

function isAsked(job: Job, { approval }: Notice, sent: Deliveries, announced: boolean): boolean {
  const isPending = approval?.state === 'pending';
  return job.key.kind === 'requested' ? isPending || announced : isPending && isTimely(job, sent);
}

/** The digest was sent or given up, or a later one was sent: after an outage a person gets one list. */
function isListed(key: MessageKey, sent: Deliveries): boolean {
  if (sent.get(keyText(key))?.status === 'given-up') return true;
  return [...sent.values()].some(
    ({ channelId, recipient, kind, nth, status }) =>
      kind === 'digest' &&
      status === 'delivered' &&
      channelId === key.channelId &&
      recipient === key.recipient &&
      nth >= key.nth,
  );
}

function isOutdated(channel: Channel, notice: Notice, { messageRef, shows }: Delivery): boolean {
  return channel.update !== undefined && messageRef !== null && shows !== stateShown(notice);
}

/** A reminder of what has just been asked, or could not be asked, reminds of nothing. */
function isTimely({ key, dueAtMs }: Job, sent: Deliveries): boolean {
  const asked = questionCopy(sent, key)?.deliveredAt ?? null;
  return asked !== null && (dueAtMs === null || Date.parse(asked) < dueAtMs);
}
