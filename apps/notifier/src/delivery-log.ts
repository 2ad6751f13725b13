import { channelRecordOf } from '@countersign/channels';
import { createCommandHandler } from '@countersign/commands';
import { backoffMs, channelStream, deliveryStream, readablePart } from '@countersign/contracts';
import type { CalledTool, DeliveryEvent } from '@countersign/contracts';
import { deliveryDecider, keyText } from '@countersign/domain';
import type { Deliveries, DeliveryCommand, MessageKey } from '@countersign/domain';
import { isStoreOutage } from '@countersign/event-store';
import type { EventStore } from '@countersign/event-store';
import { createLruMap, sleep } from '@countersign/runtime';
import type { Clock, Ids, Log } from '@countersign/runtime';

/** The subject of a message. */
export interface Subject {
  readonly tenant: string;
  readonly callId: string;
  readonly runId: string;
  readonly tool: CalledTool;
  readonly approvalId: string | null;
  /** The trace of its call. */
  readonly traceparent?: string | undefined;
}

/** The sent messages in the event store. */
export interface DeliveryLog {
  /** Undefined when the record has an event that cannot be read: then nothing more is sent. */
  readonly load: (subject: Subject) => Promise<Deliveries | undefined>;
  /**
   * Claims the sending of a message. Returns false when another notifier has it. A claim of this process that is still
   * valid for long enough is not recorded again. `isDown`: the channel fails, so the claim is a long one.
   */
  readonly claim: (subject: Subject, key: MessageKey, isDown: boolean) => Promise<boolean>;
  /**
   * Records the result of a message. The message was sent, so this retries while the store is unavailable: without the
   * record it would be sent again.
   * @throws the last error when the signal aborts.
   */
  readonly record: (subject: Subject, event: DeliveryEvent, signal: AbortSignal) => Promise<void>;
  /** The position from which on a channel hears how calls end; the first time that is now. */
  readonly activatedAt: (tenant: string, channelId: string) => Promise<number>;
  /** Why a channel accepts no more messages; null: it accepts them. */
  readonly whyOff: (channelId: string, endpoint: string) => Promise<string | null>;
  readonly switchOff: (off: { tenant: string; channelId: string; endpoint: string; reason: string }) => Promise<void>;
}

export interface DeliveryLogOptions {
  readonly store: EventStore;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  /** Names this process in its claims; undefined when it is the only notifier. */
  readonly notifierId: string | undefined;
}

const recordBackoff = { firstMs: 200, maxMs: 5_000 };
/** How long a claim excludes the other notifiers. */
export const leaseMs = 60_000;
/** While a channel is down, each try would renew a short claim, and fill the log. */
const downLeaseMs = 10 * leaseMs;
/** A send and its record take less. */
const sendMsMax = leaseMs / 2;
const cacheSize = 256;
/** The claims of this process that it knows to be valid. */
const heldMax = 10_000;

/** The streams `delivery-…` over an event store. */
export function createDeliveryLog(options: DeliveryLogOptions): DeliveryLog {
  const { store, clock, ids, log, notifierId } = options;
  const handler = createCommandHandler({ store, fold: deliveryDecider, clock, ids, cacheSize });
  const handle = (subject: Subject, command: DeliveryCommand, commandId: string) => {
    const { tenant, callId, runId, tool, traceparent } = subject;
    return handler.handleCommand(deliveryStream(subject), (state) => deliveryDecider.decide(command, state), {
      commandId,
      tenant,
      callId,
      runId,
      tool,
      traceparent,
    });
  };
  /** When the claims of this process end, by their messages. */
  const held = createLruMap<number>(heldMax);
  const nameOf = (subject: Subject, key: MessageKey): string => `${deliveryStream(subject)}${keyText(key)}`;
  return {
    load: async (subject) => {
      const { state, unreadable } = await handler.look(deliveryStream(subject));
      return unreadable === undefined ? state : undefined;
    },
    claim: async (subject, key, isDown) => {
      if (notifierId === undefined) return true;
      const now = clock.now();
      const name = nameOf(subject, key);
      if ((held.get(name) ?? 0) - now > sendMsMax) return true;
      const leaseEndsMs = now + (isDown ? downLeaseMs : leaseMs);
      const event = {
        type: 'NotificationClaimed',
        data: { ...dataOf(subject, key), notifierId, claimedAt: timeOf(now), leaseUntil: timeOf(leaseEndsMs) },
      } as const;
      const result = await handle(subject, { type: 'Claim', event, at: timeOf(now) }, ids.uuid());
      if (result.status === 'accepted') held.set(name, leaseEndsMs);
      return result.status === 'accepted';
    },
    record: async (subject, event, signal) => {
      // What is recorded ends the claim.
      if ('kind' in event.data) held.delete(nameOf(subject, event.data));
      const commandId = ids.uuid();
      for (let failures = 1; ; failures += 1) {
        try {
          await handle(subject, { type: 'Record', event }, commandId);
          return;
        } catch (error) {
          if (!isStoreOutage(error) || signal.aborted) throw error;
          log.warn({ error }, 'a delivery cannot be recorded now; retrying');
          await sleep(clock, backoffMs(failures, recordBackoff), signal);
        }
      }
    },
    activatedAt: async (tenant, channelId) => {
      const stream = channelStream(channelId);
      const [first] = await store.readStream(stream);
      if (first !== undefined) return first.position;
      const event = { type: 'ChannelActivated', data: { channelId, activatedAt: timeOf(clock.now()) } } as const;
      const meta = { commandId: `activate:${channelId}`, tenant, callId: null, runId: null };
      await handler.handleCommand(stream, (state) => deliveryDecider.decide({ type: 'Record', event }, state), meta);
      const [recorded] = await store.readStream(stream);
      return recorded?.position ?? 0;
    },
    whyOff: async (channelId, endpoint) => {
      const { events, unreadable } = readablePart(await store.readStream(channelStream(channelId)));
      // It may say that the channel was switched off.
      if (unreadable !== undefined) return `its record in the log cannot be read: ${unreadable.unreadable}`;
      const record = channelRecordOf(events as unknown as readonly DeliveryEvent[], endpoint);
      return record.status === 'off' ? record.reason : null;
    },
    switchOff: async ({ tenant, ...off }) => {
      const event = { type: 'ChannelSwitchedOff', data: { ...off, switchedOffAt: timeOf(clock.now()) } } as const;
      const meta = { commandId: `off:${off.channelId}:${off.endpoint}`, tenant, callId: null, runId: null };
      const stream = channelStream(off.channelId);
      await handler.handleCommand(stream, (state) => deliveryDecider.decide({ type: 'Record', event }, state), meta);
    },
  };
}

/** The members that every event of a message has. */
export function dataOf(
  { approvalId }: Subject,
  { channelId, kind, nth, recipient }: MessageKey,
): MessageKey & Pick<Subject, 'approvalId'> {
  return { approvalId, channelId, kind, nth, recipient };
}

/** A time as it is stored. */
export function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}
