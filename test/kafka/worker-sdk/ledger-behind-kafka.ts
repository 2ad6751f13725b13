import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fireDue, takeTurn } from '@countersign/commands';
import {
  createGatewayApp,
  createGatewayMetrics,
  createIdempotencyStore,
  createTokens,
  type TokenEntry,
} from '@countersign/gateway';
import { createLedger, createLedgerApp, createRequestKeys, type RequestKeyEntry } from '@countersign/ledger';
import { createOpenCalls } from '@countersign/shell';
import { toEventMessage, topicNames } from '@countersign/message-bus';
import type { MessageBus } from '@countersign/message-bus';
import { openKafka } from '@countersign/message-bus/kafka';
import { createDeadlines, createTurns } from '@countersign/projector';
import { createRelay } from '@countersign/relay';
import { createSystemIds, systemClock } from '@countersign/runtime';
import { createCollectingLog } from '@countersign/runtime/testing';
import { openStores, readStandaloneConfig } from '@countersign/standalone';

const tokens: readonly TokenEntry[] = [
  { token: 'agent-token', principal: 'kafka', roles: ['agent'] },
  { token: 'signer-token', principal: 'signer', roles: ['agent'] },
  { token: 'billing-token', principal: 'billing', roles: ['agent'] },
  // Reads the refusals of every principal.
  { token: 'auditing-agent-token', principal: 'kafka', roles: ['agent', 'auditor'] },
  { token: 'ann-token', principal: 'ann', roles: ['approver'] },
  { token: 'worker-token', principal: 'worker', roles: ['resolver'] },
];

/** A request as a message of the topic. */
export interface SeenRequest {
  readonly partition: number;
  readonly key: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly value: string;
}

/** Ledger, relay and gateway over one log: the peers of a worker with Kafka. */
export interface LedgerBehindKafka {
  readonly url: string;
  readonly prefix: string;
  /** The messages of the requests topic, in the order of each run. */
  readonly seen: readonly SeenRequest[];
  /** Responds to the only pending approval of a run, as soon as there is one. */
  readonly respondTo: (runId: string, body: object) => Promise<void>;
  readonly respond: (approvalId: string, body: object) => Promise<void>;
  /** Publishes every recorded event again, the oldest first, like a relay that lost its checkpoint. */
  readonly relayAgain: () => Promise<void>;
  /** An event that is not in the log. */
  readonly publishForged: (type: string, data: object | null, runId: string, more?: ForgedMembers) => Promise<void>;
  /** While it is down, requests wait on their topic. */
  readonly stopLedger: () => Promise<void>;
  readonly startLedger: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/** Members of a forged event besides its type, run and data. */
export interface ForgedMembers {
  /** Its position in the log. Default: 1. */
  readonly position?: number;
  /** The call that it names; absent: none. */
  readonly event?: {
    readonly callId: string;
    readonly toolCallId: string;
    readonly toolName: string;
    readonly agentId: string;
    readonly revision: number;
  };
}

/** How its requests are authenticated. */
export interface LedgerBehindKafkaOptions {
  readonly keys?: readonly RequestKeyEntry[];
}

/** Opens all of it, with its own topics. */
export async function openLedgerBehindKafka(
  brokers: readonly string[],
  prefix: string,
  { keys }: LedgerBehindKafkaOptions = {},
): Promise<LedgerBehindKafka> {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-behind-kafka-'));
  const world = { clock: systemClock, ids: createSystemIds(), log: createCollectingLog() };
  const stores = await openStores(readStandaloneConfig({ COUNTERSIGN_DATA: folder }), world);
  const { commands, readModel, store } = stores;
  const gateway = await openGateway(folder, { ...stores, ...world, unreadable: stores.unreadable.streams });
  const kafka = openKafka({ brokers, clientId: 'test-ledger', topicPrefix: prefix, ...world });
  const topics = topicNames(prefix);
  await kafka.topics.create({ partitions: 3, replication: 1 });

  const ledger = createLedger({
    ...world,
    commands,
    store,
    openCalls: createOpenCalls({ store, readModel, ...world }),
    keys: keys === undefined ? null : await createRequestKeys(keys),
    unsigned: { mode: 'allow', tenant: 'default', principal: 'kafka' },
  });
  // Its consumer group carries the prefix of the topics, as that of the product's process does.
  const bus: MessageBus = {
    ...kafka.bus,
    subscribe: (options) => kafka.bus.subscribe({ ...options, group: `${prefix}-${options.group}` }),
  };
  const consume = async () => {
    const app = await createLedgerApp({ ledger, bus, topic: topics.requests, log: world.log });
    await app.listen();
    return app;
  };
  let consuming = await consume();
  const relay = createRelay({
    ...world,
    store,
    publisher: kafka.publisher,
    turns: kafka.exclusiveProgress(`${prefix}-relay`),
    topic: topics.events,
  });
  relay.start();
  const deadlines = createDeadlines({
    readModel,
    fireDue: (...due) => fireDue(commands, ...due),
    ...world,
    clock: store.clock,
  });
  deadlines.start();
  const turns = createTurns({ readModel, takeTurn: (...call) => takeTurn(commands, ...call), ...world });
  turns.start();
  const seen: SeenRequest[] = [];
  kafka.bus.subscribe({
    group: `${prefix}-seen`,
    topics: [topics.requests],
    onMessage: ({ partition, key, headers, value }) =>
      void seen.push({ partition, key, headers, value: Buffer.from(value).toString() }),
  });
  const { url } = gateway;
  return {
    url,
    prefix,
    seen,
    respond: (approvalId, body) => respond(url, approvalId, body),
    respondTo: async (runId, body) => {
      for (;;) {
        const query = `/v1/approvals?state=pending&runId=${encodeURIComponent(runId)}`;
        const answer = await fetch(`${url}${query}`, { headers: { authorization: 'Bearer ann-token' } });
        const { approvals } = (await answer.json()) as { approvals: { approvalId: string }[] };
        if (approvals[0] !== undefined) return respond(url, approvals[0].approvalId, body);
        await sleep(20);
      }
    },
    relayAgain: async () => {
      const events = await store.readAll(0, 10_000);
      await kafka.publisher.publish(topics.events, events.map(toEventMessage));
    },
    publishForged: async (type, data, runId, { position = 1, event } = {}) => {
      const eventId = world.ids.uuid();
      const headers = { ce_id: eventId, ce_type: type, ce_sequence: String(position) };
      const subject = event === undefined ? {} : { ce_subject: event.callId };
      const value = JSON.stringify({ eventId, type, runId, data, ...event });
      await kafka.publisher.publish(topics.events, [{ key: runId, value, headers: { ...headers, ...subject } }]);
    },
    stopLedger: () => consuming.close(),
    startLedger: async () => {
      consuming = await consume();
    },
    close: async () => {
      await deadlines.stop();
      await turns.stop();
      await relay.stop();
      await kafka.close();
      await gateway.close();
      await stores.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

type GatewayParts = Omit<Parameters<typeof createGatewayApp>[0], 'tokens' | 'idempotency' | 'metrics'>;

async function openGateway(folder: string, stores: GatewayParts) {
  const idempotency = createIdempotencyStore(join(folder, 'idempotency.db'));
  const gateway = await createGatewayApp(
    { ...stores, tokens: createTokens(tokens), idempotency, metrics: createGatewayMetrics() },
    { host: '127.0.0.1', port: 0 },
  );
  return {
    url: await gateway.listen(),
    close: async () => {
      await gateway.close();
      idempotency.close();
    },
  };
}

async function respond(url: string, approvalId: string, body: object): Promise<void> {
  const answer = await fetch(`${url}/v1/approvals/${approvalId}/responses`, {
    method: 'POST',
    headers: { authorization: 'Bearer ann-token', 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`the answer was refused: ${await answer.text()}`);
}
