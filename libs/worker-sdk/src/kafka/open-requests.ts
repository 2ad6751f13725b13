import type { Client } from '../client.js';
import { sleep } from '@countersign/contracts/clock';
import { messageOf } from '../errors.js';
import type { WorkerLog } from '../log.js';
import type { Requests } from '../requests.js';
import type { Transport } from '../transport.js';
import type { connectKafka, KafkaConnection } from './connection.js';
import { requestsTopicOf } from './options.js';
import type { KafkaOptions } from './options.js';
import { createKnownCalls } from './known-calls.js';
import { reportsTo } from './reports.js';
import { createRequestFeed } from './request-feed.js';
import { createRequestSigner } from './request-signer.js';
import { requestsOverKafka } from './requests-over-kafka.js';

/** The settings of requests over Kafka. */
export interface OpenRequestsOptions {
  readonly kafka: KafkaOptions;
  readonly client: Client;
  /** For claims and outcomes. */
  readonly resolver: Client;
  readonly transport: Transport;
  readonly agentId: string;
  readonly log: WorkerLog;
}

/** The requests of a worker, and a client for its claims and reports. */
export interface KafkaSide {
  readonly requests: Requests;
  readonly resolver: Client;
}

const answerWithinMsDefault = 60_000;

/**
 * Requests by messages. Connects when there is something to ask or to wait for, and again when that failed.
 * @throws TypeError when no broker is named, or for a key that cannot sign.
 */
export function openKafkaRequests(options: OpenRequestsOptions): KafkaSide {
  const { kafka, client, transport, agentId, log } = options;
  if (kafka.brokers.length === 0) throw new TypeError('kafka.brokers names no broker');
  const known = createKnownCalls(transport.clock);
  const feed = createRequestFeed(transport.noticePosition, known);
  let connected: KafkaConnection | undefined;
  let connecting: Promise<KafkaConnection> | undefined;
  const closed = new AbortController();

  const connect = async (): Promise<KafkaConnection> => {
    const loaded = await loadConnection();
    connected = await loaded.connectKafka({ kafka, feed, log, clock: transport.clock, random: transport.random });
    return connected;
  };
  const connection = (): Promise<KafkaConnection> => {
    if (closed.signal.aborted) return Promise.reject(new Error('the worker is closed'));
    if (connecting === undefined) {
      connecting = connect();
      connecting.catch((error: unknown) => {
        log.warn({ error: messageOf(error) }, 'no connection to Kafka');
        connecting = undefined;
      });
    }
    return connecting;
  };
  const requests = requestsOverKafka({
    client,
    known,
    isListening: () => connected?.isListening() ?? false,
    connection,
    close: async (graceMs) => {
      closed.abort(new Error('the worker is closed'));
      const closing = connecting?.catch(() => undefined).then((opened) => opened?.close());
      const isOver = new AbortController();
      // A broker that hangs keeps kafkajs waiting for longer than the caller does.
      const over = sleep(transport.clock, graceMs, isOver.signal);
      await Promise.race([closing, over]);
      isOver.abort();
    },
    feed,
    signer: kafka.signing === undefined ? undefined : createRequestSigner(kafka.signing, requestsTopicOf(kafka)),
    source: `/agents/${encodeURIComponent(agentId)}`,
    clock: transport.clock,
    random: transport.random,
    now: () => Date.now(),
    answerWithinMs: kafka.answerWithinMs ?? answerWithinMsDefault,
  });
  return { requests, resolver: reportsTo(known, options.resolver) };
}

/** kafkajs is loaded only here, so that workers without Kafka do not need it. */
async function loadConnection(): Promise<{ readonly connectKafka: typeof connectKafka }> {
  try {
    return await import('./connection.js');
  } catch (error) {
    const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code !== 'ERR_MODULE_NOT_FOUND' || !messageOf(error).includes('kafkajs')) throw error;
    throw new TypeError('createWorker was given `kafka`, which needs kafkajs 2: npm install kafkajs', { cause: error });
  }
}
