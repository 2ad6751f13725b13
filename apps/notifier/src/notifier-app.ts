import { parseEventMessage } from '@countersign/message-bus';
import type { MessageBus, SubscriptionStatus } from '@countersign/message-bus';
import type { Log } from '@countersign/runtime';
import { createBusApp } from '@countersign/shell';
import type { BusAppOptions } from '@countersign/shell';
import { isTransientFailure } from './notifier.js';
import type { Notifier } from './notifier-port.js';
import { NotifierModule } from './notifier.module.js';

/** The dependencies of the notifier's consumers. */
export interface NotifierAppOptions {
  readonly notifier: Notifier;
  readonly bus: MessageBus;
  /** The topic of the recorded events. */
  readonly topic: string;
  readonly log: Log;
  readonly tracing?: BusAppOptions['tracing'];
  /** Default `notifier`; the channel's id is added. */
  readonly group?: string;
}

/** The notifier on its bus. */
export interface NotifierApp {
  /** Starts to consume events. */
  readonly listen: () => Promise<void>;
  /** The state of each channel's consumer, by channel id; undefined before `listen`. */
  readonly status: () => Readonly<Record<string, SubscriptionStatus | undefined>>;
  /** Sends no more, records what is being sent, and waits for the running handlers. The bus stays open. */
  readonly close: () => Promise<void>;
}

/** How many handlers of one channel wait at once. That much is in memory, the rest in the log. */
const concurrency = 32;
const inFlightMax = 128;

/**
 * The notifier as Nest microservices, on whichever bus: one a channel, each with a consumer group of its own, so that a
 * channel that hangs holds up no other. `start` the notifier first.
 * @example
 * const app = await createNotifierApp({ notifier, bus, topic: topicNames().events, log });
 * notifier.start();
 * await app.listen();
 */
export async function createNotifierApp({
  notifier,
  bus,
  topic,
  log,
  tracing,
  group = 'notifier',
}: NotifierAppOptions): Promise<NotifierApp> {
  const apps = await Promise.all(
    notifier.channelIds.map(async (channelId) => {
      const app = await createBusApp({
        module: NotifierModule.of(notifier, channelId),
        log,
        bus,
        tracing,
        group: `${group}-${channelId}`,
        topics: [topic],
        concurrency,
        inFlightMax,
        parse: parseEventMessage,
        isTransient: isTransientFailure,
      });
      return [channelId, app] as const;
    }),
  );
  return {
    listen: async () => {
      await Promise.all(apps.map(([, app]) => app.listen()));
    },
    status: () => Object.fromEntries(apps.map(([channelId, app]) => [channelId, app.status()])),
    close: async () => {
      // First, or a handler would wait out the pause of a channel that is down.
      await notifier.stop();
      await Promise.all(apps.map(([, app]) => app.close()));
    },
  };
}
