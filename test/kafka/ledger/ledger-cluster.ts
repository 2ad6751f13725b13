import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readable } from '@countersign/event-store/testing';
import { createWriteSide } from '@countersign/commands';
import type { WriteSidePorts } from '@countersign/commands';
import type { RecordedEvent } from '@countersign/contracts';
import type { EventStore } from '@countersign/event-store';
import { createLedger, createLedgerApp, createRequestKeys } from '@countersign/ledger';
import { createPolicies, loadPolicy } from '@countersign/policy';
import { createHistory, createOpenCalls } from '@countersign/shell';
import type { Ledger, RequestKeyEntry, RequestKeys } from '@countersign/ledger';
import type { MessageBus } from '@countersign/message-bus';
import type { KafkaBus } from '@countersign/message-bus/kafka';
import { createRelay } from '@countersign/relay';
import { createSystemIds, systemClock } from '@countersign/runtime';
import { createSilentLog } from '@countersign/runtime/testing';
import { openStores, readStandaloneConfig } from '@countersign/standalone';
import { freshPrefix, openedKafka, openedWithTopics } from '../opened.ts';
import { severable } from '../severable.ts';

/** One ledger process of several: a Nest application with its own Kafka connection. */
export interface LedgerProcess {
  /** The ids of the requests that it began to handle, repeats included. */
  readonly begun: readonly string[];
  /** From now on what it writes waits: nothing of it is recorded. */
  readonly holdWrites: () => void;
  readonly releaseWrites: () => void;
  /** Its next write is recorded without a response, and then it is killed. */
  readonly dieAfterNextWrite: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/** Ledgers, and a relay, over one log and one Kafka. */
export interface LedgerCluster {
  readonly kafka: KafkaBus;
  readonly startLedger: () => Promise<LedgerProcess>;
  readonly request: (type: string, runId: string, data: object, id?: string) => Promise<void>;
  readonly events: () => Promise<readonly RecordedEvent[]>;
  readonly close: () => Promise<void>;
}

const world = { clock: systemClock, ids: createSystemIds(), log: createSilentLog() };

/** `keys`: with them requests must be signed. */
export async function openLedgerCluster({
  partitions = 2,
  policy = 'version: 1',
  keys = [] as readonly RequestKeyEntry[],
} = {}): Promise<LedgerCluster> {
  const requestKeys = keys.length === 0 ? null : await createRequestKeys(keys);
  const folder = mkdtempSync(join(tmpdir(), 'countersign-ledgers-'));
  const topicPrefix = freshPrefix();
  const stores = await openStores(readStandaloneConfig({ COUNTERSIGN_DATA: folder }), world);
  const { store, readModel } = stores;
  const kafka = await openedWithTopics({ topicPrefix }, { partitions });
  const { requests, events } = kafka.topics.names;
  const relay = createRelay({
    ...{ ...world, store, publisher: kafka.publisher, topic: events },
    turns: kafka.exclusiveProgress(`${topicPrefix}-relay`),
  });
  relay.start();
  const judging = {
    policies: createPolicies([loadPolicy('countersign.policy.yaml', policy)]),
    history: createHistory(readModel),
  };
  const processes: LedgerProcess[] = [];
  return {
    kafka,
    startLedger: async () => {
      const openCalls = createOpenCalls({ store, readModel, ...world });
      const started = await startLedger({ topicPrefix, topic: requests, store, openCalls, judging, keys: requestKeys });
      processes.push(started);
      return started;
    },
    request: (type, runId, data, id = randomUUID()) => {
      const headers = {
        ...{ 'content-type': 'application/json', ce_specversion: '1.0', ce_source: '/agents/test' },
        ...{ ce_id: id, ce_type: type },
      };
      return kafka.publisher.publish(requests, [{ key: runId, value: JSON.stringify({ runId, ...data }), headers }]);
    },
    events: async () => readable(await store.readAll(0, 10_000)),
    close: async () => {
      await Promise.all(processes.map((each) => each.close()));
      await relay.stop();
      await kafka.close();
      await stores.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

interface StartOptions {
  readonly topicPrefix: string;
  readonly topic: string;
  readonly store: EventStore;
  readonly openCalls: ReturnType<typeof createOpenCalls>;
  readonly judging: Pick<WriteSidePorts, 'policies' | 'history'>;
  readonly keys: RequestKeys | null;
}

async function startLedger({
  topicPrefix,
  topic,
  store,
  openCalls,
  judging,
  keys,
}: StartOptions): Promise<LedgerProcess> {
  const { socketFactory, clock, cut } = severable();
  const kafka = await openedKafka({ topicPrefix, socketFactory, clock, patienceMs: 4_000 });
  const writes = createGate();
  let onWritten: (() => void) | undefined;
  const own: EventStore = {
    ...store,
    append: async (...given) => {
      await writes.passed();
      const result = await store.append(...given);
      if (onWritten === undefined) return result;
      onWritten();
      return new Promise(() => undefined);
    },
  };
  const begun: string[] = [];
  const real = createLedger({
    ...{ ...world, store: own, openCalls, keys },
    commands: createWriteSide({
      store: own,
      tools: { find: () => undefined },
      ...judging,
      writeOnly: true,
      ...world,
    }),
    unsigned: { mode: keys === null ? 'allow' : 'refuse', tenant: 'default', principal: 'kafka' },
  });
  const ledger: Ledger = {
    ...real,
    handle: (message, delivery) => {
      begun.push(message.headers['ce_id'] ?? '');
      return real.handle(message, delivery);
    },
  };
  // Its consumer groups carry the prefix of the topics, as those of the product's process do.
  const bus: MessageBus = {
    ...kafka.bus,
    subscribe: (options) => kafka.bus.subscribe({ ...options, group: `${topicPrefix}-${options.group}` }),
  };
  const app = await createLedgerApp({ ledger, bus, topic, log: world.log });
  await app.listen();
  let isDead = false;
  return {
    begun,
    holdWrites: writes.close,
    releaseWrites: writes.open,
    dieAfterNextWrite: async () => {
      await new Promise<void>((resolve) => (onWritten = resolve));
      isDead = true;
      cut();
    },
    close: async () => {
      // A killed process records nothing more; its handler waits for ever.
      if (isDead) return;
      writes.open();
      await app.close();
      await kafka.close();
    },
  };
}

function createGate() {
  let opened = Promise.withResolvers<undefined>();
  opened.resolve(undefined);
  return {
    passed: () => opened.promise,
    close: () => void (opened = Promise.withResolvers()),
    open: () => opened.resolve(undefined),
  };
}
