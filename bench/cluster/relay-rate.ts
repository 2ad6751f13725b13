import type { RecordedEvent } from '@countersign/contracts';
import type { EventStore } from '@countersign/event-store';
import type { KafkaBus } from '@countersign/message-bus/kafka';
import { createRelay } from '@countersign/relay';
import { createLog, systemClock } from '@countersign/runtime';
import type { Engines } from './engines.ts';
import { untilRisen } from './progress-rate.ts';
import { startRole, startUsage } from './role-processes.ts';

/** The relay's speed with waiting events. */
export interface RelayRate {
  readonly eventsPerSecond: number;
  readonly cpuMsPerEvent: number;
  readonly storeCpuMsPerEvent: number;
  readonly eventsPerPublish: number;
}

const published = 'countersign_relay_published_events_total';

/** A relay process with its own topics and group, from its first published event until it has published `events`. */
export async function relayRate(
  engines: Engines,
  env: Readonly<Record<string, string>>,
  events: number,
): Promise<RelayRate> {
  const relay = await startRole('relay', env);
  const used = startUsage({ relay: relay.pid, store: engines.storePid });
  const { perSecond, count } = await untilRisen(() => relay.metric(published), events, undefined);
  const { relay: cpu = NaN, store = NaN } = used();
  const publishes = await relay.metric('countersign_relay_publish_seconds_count');
  await relay.stop();
  return {
    eventsPerSecond: perSecond,
    cpuMsPerEvent: cpu / count,
    storeCpuMsPerEvent: store / count,
    eventsPerPublish: count / publishes,
  };
}

/** The relay alone in this process: its events come from memory instead of a connection, and go to Kafka. */
export async function relayFromMemory(
  kafka: KafkaBus,
  sample: readonly RecordedEvent[],
  events: number,
): Promise<number> {
  const { feed, startedAt } = feedFrom(sample, events);
  const turns = kafka.exclusiveProgress('bench-relay-from-memory');
  const [clock, log] = [systemClock, createLog({ level: 'warn' })];
  const topic = kafka.topics.names.events;
  const relay = createRelay({ store: feed, publisher: kafka.publisher, turns, topic, clock, log });
  relay.start();
  while (relay.status().position < events) await new Promise((resolve) => setTimeout(resolve, 5));
  const seconds = (performance.now() - startedAt()) / 1000;
  await relay.stop();
  return events / seconds;
}

/** A log of copies of some events, delivered in batches as the store's adapter does. */
function feedFrom(
  sample: readonly RecordedEvent[],
  events: number,
): { feed: Pick<EventStore, 'subscribe' | 'readAll'>; startedAt: () => number } {
  let startedAt = 0;
  const feed: Pick<EventStore, 'subscribe' | 'readAll'> = {
    readAll: () => Promise.resolve([]),
    subscribe: (after, { onEvents }) => {
      const run = async (): Promise<void> => {
        startedAt = performance.now();
        for (let position = after; position < events; position += 200) {
          const batch: RecordedEvent[] = [];
          for (let at = position; at < Math.min(position + 200, events); at += 1) {
            const event = sample[at % sample.length];
            if (event !== undefined) batch.push({ ...event, position: at + 1 });
          }
          await onEvents(batch);
        }
      };
      void run();
      return { stop: () => Promise.resolve() };
    },
  };
  return { feed, startedAt: () => startedAt };
}
