import { randomUUID } from 'node:crypto';
import { readable } from '@countersign/event-store/testing';
import { streamPrefixes } from '@countersign/event-store/eventstoredb';
import type { RecordedEvent } from '@countersign/contracts';
import { openKafka } from '@countersign/message-bus/kafka';
import type { KafkaBus } from '@countersign/message-bus/kafka';
import { createLog, createSystemIds, systemClock } from '@countersign/runtime';
import { median } from '../closed-loop.ts';
import type { Engines } from './engines.ts';
import { ledgerRate } from './ledger-rate.ts';
import type { LedgerRate } from './ledger-rate.ts';
import { rawAppends, rawKafkaRates, rawPublishToHandler, rawSubscription } from './raw-limits.ts';
import type { RawAppends } from './raw-limits.ts';
import { relayFromMemory, relayRate } from './relay-rate.ts';
import type { RelayRate } from './relay-rate.ts';
import { followLog, openStore, replayRate } from './replay.ts';
import { createRequest } from './requests.ts';
import { createTopics, startRole } from './role-processes.ts';

/** The sizes of the measurements. */
export interface Scale {
  readonly rounds: number;
  readonly seconds: number;
  readonly requests: number;
  readonly rawMessages: number;
  readonly memoryEvents: number;
}

/** Each hop separately, together with its raw limit. */
export interface Hops {
  readonly kafka: { readonly produced: number; readonly consumed: number };
  readonly publishToHandlerMs: number;
  readonly ledger: readonly LedgerRate[];
  /** With as many appends in flight as the ledger has. */
  readonly appends: readonly RawAppends[];
  readonly appendAlone: RawAppends;
  readonly logEvents: number;
  readonly rawSubscription: number;
  readonly followed: number;
  readonly replayed: number;
  readonly relay: readonly RelayRate[];
  readonly relayFromMemory: number;
}

export type Environment = Readonly<Record<string, string>>;

/** The environment of the roles, with their own topics. */
export function environmentOf(engines: Engines, name: string): Environment {
  return {
    COUNTERSIGN_EVENTSTORE_URL: engines.storeUrl.replace(/^(esdb|kurrentdb)/, engines.client),
    COUNTERSIGN_KAFKA_BROKERS: engines.brokers.join(','),
    COUNTERSIGN_TOPIC_PREFIX: `bench-${name}-${randomUUID().slice(0, 8)}`,
    COUNTERSIGN_TOPIC_REPLICATION: '1',
  };
}

/** The bus as a worker outside of the cluster has it. */
export function openBus(engines: Engines, env: Environment): KafkaBus {
  return openKafka({
    brokers: engines.brokers,
    clientId: 'bench',
    topicPrefix: env['COUNTERSIGN_TOPIC_PREFIX'] ?? '',
    clock: systemClock,
    ids: createSystemIds(),
    log: createLog({ level: 'warn' }),
  });
}

/** Like the ledger's own. */
const ledgerConcurrency = 64;

/** Measures each hop separately. */
export async function measureHops(engines: Engines, scale: Scale, progress: (what: string) => void): Promise<Hops> {
  progress('raw limits of Kafka: batches produced and consumed');
  const kafka = await rawKafkaRates(engines.brokers, scale.rawMessages);
  const publishToHandlerMs = await rawPublishToHandler(engines.brokers, scale.seconds);
  const env = environmentOf(engines, 'ledger');
  await createTopics(env);
  const bus = openBus(engines, env);
  const rates = await measureLedger(engines, env, bus, scale, progress);
  const store = await openStore(engines.storeUrl);
  progress('the log followed: by the raw client, by the adapter, into a read model');
  const followed = await followLog(store);
  const raw = await rawSubscription(engines.storeUrl, streamPrefixes, followed.events);
  const replayed = await replayRate(store, followed.events);
  await store.close();
  progress('the relay from memory, then from the store');
  const fromMemory = await relayFromMemory(bus, followed.sample, scale.memoryEvents);
  await bus.close();
  const relay: RelayRate[] = [];
  for (let round = 0; round < scale.rounds; round += 1) {
    const own = environmentOf(engines, 'relay');
    await createTopics(own);
    relay.push(await relayRate(engines, own, followed.events));
  }
  return {
    kafka,
    publishToHandlerMs,
    ...rates,
    logEvents: followed.events,
    rawSubscription: raw,
    followed: followed.eventsPerSecond,
    replayed,
    relay,
    relayFromMemory: fromMemory,
  };
}

async function measureLedger(
  engines: Engines,
  env: Environment,
  bus: KafkaBus,
  scale: Scale,
  progress: (what: string) => void,
): Promise<Pick<Hops, 'ledger' | 'appends' | 'appendAlone'>> {
  progress('starting a ledger alone');
  const ledger = await startRole('ledger', env);
  // The warm-up has as many requests as the measurement, because a new process runs code that is not compiled yet.
  await ledgerRate(engines, bus, ledger, scale.requests);
  const events = await eventsOfOneRequest(engines, bus);
  const results: { ledger: LedgerRate[]; appends: RawAppends[] } = { ledger: [], appends: [] };
  for (let round = 0; round < scale.rounds; round += 1) {
    progress(`requests through the ledger, and raw appends of the same events, round ${String(round + 1)}`);
    results.ledger.push(await ledgerRate(engines, bus, ledger, scale.requests));
    results.appends.push(await rawAppends(engines, events, ledgerConcurrency, scale.seconds));
  }
  const appendAlone = await rawAppends(engines, events, 1, scale.seconds);
  await ledger.stop();
  return { ...results, appendAlone };
}

/** The ledger's append for a request, so that the raw appends have the same bytes. */
async function eventsOfOneRequest(engines: Engines, bus: KafkaBus): Promise<readonly RecordedEvent[]> {
  const { callId, message } = createRequest(`template-${randomUUID().slice(0, 8)}`);
  await bus.publisher.publish(bus.topics.names.requests, [message]);
  const store = await openStore(engines.storeUrl);
  let events: readonly RecordedEvent[] = [];
  while (events.length === 0) events = readable(await store.readStream(`toolCall-${callId}`));
  await store.close();
  return events;
}

/** The middle of some rounds. */
export function middleOf<T>(rounds: readonly T[], pick: (round: T) => number): number {
  return median(rounds.map(pick));
}
