import { channelsToTell, isSameMailbox } from '@countersign/channels';
import type { Person, Channel, ChannelsConfig, PeopleNow, Routed, Told } from '@countersign/channels';
import type { EventType, EventView, NotificationKind } from '@countersign/contracts';
import type { MessageKey } from '@countersign/domain';
import type { Approval } from '@countersign/domain';
import type { CallRow } from '@countersign/read-model';
import { digestTimes } from './digest-slots.js';
import { peopleAskedNow, peopleToAsk, policyReminders, recipientsOf, requestersOf, routedOf } from './notice.js';

/** The events that may require a message. */
export const notifierEventTypes = [
  'ToolCallBlocked',
  'ApprovalRequested',
  'ApprovalDescribed',
  'ApprovalResponded',
  'ResponseWithdrawn',
  'ApprovalExpired',
  'ApprovalEscalated',
  'ApproversReminded',
  'ApprovalLapsed',
  'ToolCallCancelled',
  'ToolCallCommitted',
  'ExecutionSucceeded',
  'ExecutionFailed',
  'ExecutionOutcomeUnknown',
  'ExecutionReconciled',
] as const satisfies readonly EventType[];

/** A message that is wanted, and when. */
export interface WantedMessage {
  readonly key: MessageKey;
  readonly dueAtMs: number;
}

interface Config {
  readonly people: PeopleNow;
  readonly routes: ChannelsConfig['routes'];
}

/** How an event ended an approval, in the words of routes; empty when it ended none. */
export function outcomesOf({ type, data }: EventView): readonly NotificationKind[] {
  switch (type as (typeof notifierEventTypes)[number]) {
    case 'ToolCallBlocked':
      return ['blocked'];
    case 'ApprovalResponded':
      return respondedOutcomes(data);
    case 'ApprovalExpired':
    case 'ApprovalLapsed':
      return ['expired'];
    case 'ToolCallCancelled':
      return ['cancelled'];
    case 'ToolCallCommitted':
      return typeof data['approvalId'] === 'string' ? ['cancelled'] : [];
    case 'ExecutionSucceeded':
      return ['succeeded'];
    case 'ExecutionFailed':
      return ['failed'];
    case 'ExecutionOutcomeUnknown':
      return ['unknown'];
    case 'ExecutionReconciled':
      return data['status'] === 'succeeded' || data['status'] === 'failed' ? [data['status']] : [];
    default:
      return [];
  }
}

function respondedOutcomes(data: EventView['data']): readonly NotificationKind[] {
  const { resolution, decision } = data;
  if (resolution === 'denied') return ['denied'];
  if (resolution !== 'approved') return [];
  const isAnswered = typeof decision === 'object' && decision !== null && Reflect.get(decision, 'type') === 'answer';
  return isAnswered ? ['approved', 'succeeded'] : ['approved'];
}

/**
 * Every message of a channel about an approval: the request and each reminder; or the digests that list it, the last
 * one and the next one.
 */
export function questionMessages(
  call: CallRow,
  approval: Approval,
  channel: Channel,
  config: Config,
  nowMs: number,
): readonly WantedMessage[] {
  const routed = routedOf(call, approval);
  const [asking] = toldOf(channel, config, routed, 'requested');
  if (asking === undefined) return [];
  const times = timesOf(asking, approval, nowMs);
  const { id: channelId } = channel;
  const people = peopleToAsk(config.people(), call, approval);
  const recipients = recipientIds(channel, people, routed, asking.groups);
  // Once people have answered, it is no failure that nobody is left to be asked.
  const asked = approval.votes.length === 0 ? recipients : recipients.filter(isNamedBy(channel));
  const now = new Set(peopleAskedNow(people, call, approval).map(({ id }) => id));
  const inTurn = asked.filter((recipient) => recipient === null || now.has(recipient));
  return inTurn.flatMap((recipient) =>
    times.map(({ kind, nth, dueAtMs }) => ({ key: { channelId, kind, nth, recipient }, dueAtMs })),
  );
}

/** The messages that ask: the question, its reminders, and the lists that have it. */
export const questionKinds: readonly NotificationKind[] = ['requested', 'reminder', 'digest'];

/**
 * Returns whether the person of a personal question may still decide: meanwhile they may have answered through another
 * channel, or lost the group or the delegation by which they were asked, or it may be the turn of another stage.
 */
export function isStillAsked(
  call: CallRow,
  approval: Approval | null,
  { kind, recipient }: MessageKey,
  config: Pick<Config, 'people'>,
): boolean {
  if (recipient === null || approval === null || !questionKinds.includes(kind)) return true;
  return peopleAskedNow(config.people(), call, approval).some(({ id }) => id === recipient);
}

interface Timed extends Pick<MessageKey, 'kind' | 'nth'> {
  readonly dueAtMs: number;
}

function timesOf({ digest, afterMs, remindersMs }: Told, approval: Approval, nowMs: number): readonly Timed[] {
  const listedMs = digest === null ? null : digestTimes(digest, approval, nowMs);
  if (listedMs !== null) {
    return listedMs.map((dueAtMs) => ({ kind: 'digest', nth: Math.floor(dueAtMs / 1000), dueAtMs }));
  }
  const requestedAtMs = Date.parse(approval.requestedAt);
  return [
    { kind: 'requested', nth: 0, dueAtMs: requestedAtMs + afterMs },
    ...remindersMs.map((ms, index): Timed => ({ kind: 'reminder', nth: index + 1, dueAtMs: requestedAtMs + ms })),
  ];
}

/** The immediate message of a channel for an event: a policy's reminder, or an outcome. */
export function immediateMessages(
  event: EventView,
  call: CallRow,
  approval: Approval | null,
  channel: Channel,
  config: Config,
): readonly MessageKey[] {
  const routed = routedOf(call, approval);
  // An outcome is told to all; only a person who may decide is reminded to.
  const asked = (kind: NotificationKind) =>
    kind === 'reminder' && approval !== null ? peopleAskedNow(config.people(), call, approval) : config.people();
  const keysOf = (routedAs: NotificationKind, kind: NotificationKind, nth: number): readonly MessageKey[] =>
    toldOf(channel, config, routed, routedAs).flatMap(({ audience, groups }) => {
      const recipients =
        audience === 'requester'
          ? requestersOf(config.people(), call)
              .filter((person) => isMailboxOf(channel, person, routed))
              .map(({ id }) => id)
          : recipientIds(channel, asked(kind), routed, groups);
      return recipients.map((recipient) => ({ channelId: channel.id, kind, nth, recipient }));
    });
  if (event.type === 'ApproversReminded') {
    return keysOf('requested', 'reminder', policyReminders + Number(event.data['nth']));
  }
  return outcomesOf(event).flatMap((kind) => keysOf(kind, kind, 0));
}

/**
 * Returns whether a shared channel announces an approval and how it ends: then it gets both, in that order, also when the
 * approval was decided before its message could be sent. Otherwise a consumer would count an outcome without a request.
 */
export function isAnnounced(call: CallRow, approval: Approval | null, channel: Channel, config: Config): boolean {
  if (approval === null || channel.addressing !== 'shared') return false;
  const routed = routedOf(call, approval);
  const [asking] = toldOf(channel, config, routed, 'requested');
  if (asking === undefined || asking.afterMs > 0 || asking.digest !== null) return false;
  return endKinds.some((kind) => toldOf(channel, config, routed, kind).length > 0);
}

const endKinds = ['approved', 'denied', 'expired', 'cancelled', 'succeeded', 'failed', 'unknown'] as const;

/** How many outcomes of an event the person behind the request should hear of, and cannot: no address is known. */
export function untoldRequesters(
  event: EventView,
  call: CallRow,
  approval: Approval | null,
  channel: Channel,
  config: Config,
): number {
  if (requestersOf(config.people(), call).length > 0) return 0;
  const routed = routedOf(call, approval);
  return outcomesOf(event).filter((kind) =>
    toldOf(channel, config, routed, kind).some(({ audience }) => audience === 'requester'),
  ).length;
}

function toldOf({ id }: Channel, { routes }: Config, routed: Routed, kind: NotificationKind): readonly Told[] {
  return channelsToTell(routes, routed, kind).filter(({ channelId }) => channelId === id);
}

function recipientIds(
  channel: Channel,
  people: readonly Person[],
  { groups, labels }: Pick<Routed, 'groups' | 'labels'>,
  wanted: readonly string[] | null,
): readonly (string | null)[] {
  if (channel.addressing === 'shared') return [null];
  const recipients = recipientsOf(people, groups, wanted).filter((person) => isMailboxOf(channel, person, { labels }));
  // The channel refuses a message to nobody, so that the log of the approval says why no mail was sent.
  if (channel.mailbox !== undefined && recipients.length === 0) return [null];
  return recipients.map(({ id }) => id);
}

function isNamedBy({ addressing }: Channel): (recipient: string | null) => boolean {
  return (recipient) => addressing === 'shared' || recipient !== null;
}

/** Where a label of the call names the mailbox: that person alone. */
function isMailboxOf({ mailbox }: Channel, person: Person, { labels }: Pick<Routed, 'labels'>): boolean {
  if (mailbox === undefined) return true;
  const located = mailbox({ labels, approval: null });
  return located.status === 'known' && isSameMailbox(located.place, person);
}
