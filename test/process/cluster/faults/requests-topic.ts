import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RequestMessageType } from '@countersign/contracts';
import { Partitioners } from 'kafkajs';
import type { Kafka, Message } from 'kafkajs';
import { onCleanup } from '../../harness/cleanup.js';
import { createKafkaClient } from '../../harness/kafka-client.js';

/** A request that the broker has acknowledged: from then on the agent may rely on an answer. */
export interface Produced {
  readonly requestId: string;
  readonly type: RequestMessageType;
  readonly runId: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** How a request is published, where it differs from the default. */
export interface PublishOptions {
  /** How many copies. Default: 1. */
  readonly copies?: number;
  /** Default: where the key belongs. */
  readonly partition?: number;
}

/** The agents' topic, and what the broker acknowledged. */
export interface RequestsTopic {
  readonly kafka: Kafka;
  /** Publishes a request until the broker has it; returns its id. */
  readonly publish: (
    type: RequestMessageType,
    body: Readonly<Record<string, unknown>> & { readonly runId: string },
    options?: PublishOptions,
  ) => Promise<string>;
  /** Publishes anything at all on any topic. */
  readonly publishRaw: (topic: string, messages: readonly Message[]) => Promise<void>;
  readonly produced: readonly Produced[];
}

/** Headers of a CloudEvent in binary mode. */
export function cloudEvent(id: string, type: string): Record<string, string> {
  return {
    ce_specversion: '1.0',
    ce_id: id,
    ce_source: '/agents/faults',
    ce_type: type,
    ce_time: new Date().toISOString(),
    'content-type': 'application/json',
  };
}

const patienceMs = 180_000;

/** Opens it with a separate client, which shares nothing with the product's. */
export async function openRequestsTopic(brokers: readonly string[], topic: string): Promise<RequestsTopic> {
  const kafka = createKafkaClient({
    brokers: [...brokers],
    clientId: 'agents',
    requestTimeout: 5_000,
    retry: { retries: 3, initialRetryTime: 100 },
  });
  const producer = kafka.producer({
    allowAutoTopicCreation: false,
    createPartitioner: Partitioners.DefaultPartitioner,
  });
  await producer.connect();
  onCleanup(() => producer.disconnect());
  const produced: Produced[] = [];
  /** The id is generated first: after a lost acknowledgement the same request is sent again. */
  const send = async (to: string, messages: readonly Message[]): Promise<void> => {
    const giveUpAt = Date.now() + patienceMs;
    for (;;) {
      try {
        await producer.send({ topic: to, acks: -1, messages: [...messages] });
        return;
      } catch (error) {
        if (Date.now() > giveUpAt) throw error;
        await sleep(100);
        await producer.connect().catch(() => undefined);
      }
    }
  };
  return {
    kafka,
    produced,
    publishRaw: send,
    publish: async (type, body, { copies = 1, partition } = {}) => {
      const requestId = randomUUID();
      const place = { key: body.runId, ...(partition !== undefined && { partition }) };
      const message = { ...place, value: JSON.stringify(body), headers: cloudEvent(requestId, type) };
      await send(
        topic,
        Array.from({ length: copies }, () => message),
      );
      produced.push({ requestId, type, runId: body.runId, body });
      return requestId;
    },
  };
}
