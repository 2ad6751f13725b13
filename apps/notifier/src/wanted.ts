import { routeOutcome, routeQuestion } from '@countersign/channels';
import type { Channel, ChannelsConfig } from '@countersign/channels';
import type { EventType, EventView, NotificationKind } from '@countersign/contracts';
import type { ApprovalRow, CallRow } from '@countersign/read-model';
import type { MessageKey } from './deliveries.js';
import { recipientsOf, routedOf } from './look.js';

/** The events after which something may have to be told. */
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
  'ExecutionSucceeded',
  'ExecutionFailed',
  'ExecutionOutcomeUnknown',
  'ExecutionReconciled',
] as const satisfies readonly EventType[];

/** A message that is wanted, and when. */
export interface Wanted {
  readonly key: MessageKey;
  readonly dueAtMs: number;
}

type Config = Pick<ChannelsConfig, 'people' | 'routes'>;

/** Reminders that the policy asks for are counted from here, so that they are none of the routes'. */
const policyReminders = 100;

/** How an event ended something, in the words of routes; empty when it ended nothing. */
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

/** Everything that a channel is to be told of a question: that it is asked, and each reminder. */
export function questionMessages(
  call: CallRow,
  approval: ApprovalRow,
  channel: Channel,
  config: Config,
): readonly Wanted[] {
  const routed = routedOf(call, approval);
  const asking = routeQuestion(config.routes, routed).find(({ channelId }) => channelId === channel.id);
  if (asking === undefined) return [];
  const requestedAtMs = Date.parse(approval.requestedAt);
  const times: readonly (readonly [NotificationKind, number, number])[] = [
    ['requested', 0, asking.afterMs],
    ...asking.remindersMs.map((ms, index) => ['reminder', index + 1, ms] as const),
  ];
  const { id: channelId } = channel;
  return recipientIds(channel, config, routed.groups, asking.groups).flatMap((recipient) =>
    times.map(([kind, nth, ms]) => ({ key: { channelId, kind, nth, recipient }, dueAtMs: requestedAtMs + ms })),
  );
}

/** What a channel is told at once because of an event: a policy's reminder, or how something ended. */
export function immediateMessages(
  event: EventView,
  call: CallRow,
  approval: ApprovalRow | null,
  channel: Channel,
  config: Config,
): readonly MessageKey[] {
  const routed = routedOf(call, approval);
  const { id: channelId } = channel;
  if (event.type === 'ApproversReminded') {
    const asking = routeQuestion(config.routes, routed).find((one) => one.channelId === channelId);
    const nth = policyReminders + Number(event.data['nth']);
    const groups = asking?.groups ?? null;
    return asking === undefined
      ? []
      : recipientIds(channel, config, routed.groups, groups).map(
          (recipient) =>
            ({
              ...{ channelId, kind: 'reminder', nth, recipient },
            }) as const,
        );
  }
  return outcomesOf(event).flatMap((kind) => {
    const route = routeOutcome(config.routes, routed, kind).find((one) => one.channelId === channelId);
    if (route === undefined) return [];
    return recipientIds(channel, config, routed.groups, route.groups).map((recipient) => ({
      channelId,
      kind,
      nth: 0,
      recipient,
    }));
  });
}

function recipientIds(
  channel: Channel,
  { people }: Config,
  mayAnswer: readonly string[] | null | undefined,
  wanted: readonly string[] | null,
): readonly (string | null)[] {
  if (channel.addressing === 'shared') return [null];
  return recipientsOf(people, mayAnswer, wanted).map(({ id }) => id);
}
