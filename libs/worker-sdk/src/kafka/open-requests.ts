import { sleep } from '@countersign/contracts/clock';
import { untilDone } from '@countersign/http-client';
import { messageOf } from '../errors.js';
import type { KafkaRequests, KafkaSide, RequestingWorker } from '../ledger/kafka-requests.js';
import type { KafkaConnection } from './connection.js';
import { connectKafka } from './load-connection.js';
import { requestsTopicOf } from './options.js';
import type { KafkaOptions } from './options.js';
import { createKnownCalls } from './known-calls.js';
import { reportsTo } from './reports.js';
import { createRequestFeed } from './request-feed.js';
import { createRequestSigner } from './request-signer.js';
import { requestsOverKafka } from './requests-over-kafka.js';

const answerWithinMsDefault = 60_000;

/**
 * Requests by messages, for the option `kafka` of `createWorker`. It needs kafkajs 2 as an additional package. The worker
 * connects when there is something to ask or to wait for, and again when that failed.
 * @throws TypeError when no broker is named. `createWorker` throws it for a key that cannot sign.
 *
 * @example
 * kafka: kafka({ brokers: ['127.0.0.1:9092'] }),
 */
export function kafka(options: KafkaOptions): KafkaRequests {
  if (options.brokers.length === 0) throw new TypeError('kafka.brokers names no broker');
  return { open: (worker) => openRequests(options, worker) };
}

function openRequests(options: KafkaOptions, worker: RequestingWorker): KafkaSide {
  const { client, transport, agentId, log } = worker;
  const known = createKnownCalls(transport.clock);
  const feed = createRequestFeed(transport.noticePosition, known);
  let connected: KafkaConnection | undefined;
  let connecting: Promise<KafkaConnection> | undefined;
  const closed = new AbortController();

  const connect = async (): Promise<KafkaConnection> => {
    connected = await connectKafka({ kafka: options, feed, log, clock: transport.clock, random: transport.random });
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
    principal: untilDone(async () => {
      const { principal } = await client.getMe({ attempts: Infinity, signal: closed.signal });
      return principal;
    }),
    signer: options.signing === undefined ? undefined : createRequestSigner(options.signing, requestsTopicOf(options)),
    source: `/agents/${encodeURIComponent(agentId)}`,
    clock: transport.clock,
    random: transport.random,
    now: () => Date.now(),
    answerWithinMs: options.answerWithinMs ?? answerWithinMsDefault,
  });
  return { requests, resolver: reportsTo(known, worker.resolver) };
}
