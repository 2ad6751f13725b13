import { exclusiveProgressContract } from '@countersign/message-bus/testing';
import type { ExclusiveProgress } from '@countersign/message-bus';
import type { KafkaBus } from '@countersign/message-bus/kafka';
import { freshPrefix, openedKafka } from './opened.ts';
import { severable } from './severable.ts';
import type { Connections } from './severable.ts';

exclusiveProgressContract('Kafka', async () => {
  const topicPrefix = freshPrefix();
  const opened = new Map<ExclusiveProgress, { kafka: KafkaBus; connections: Connections }>();
  const connectionsOf = (process: ExclusiveProgress): Connections => opened.get(process)!.connections;
  const made = await openedKafka({ topicPrefix });
  await made.topics.create({ partitions: 2, replication: 1 });
  return {
    open: async () => {
      const connections = severable();
      const kafka = await openedKafka({ topicPrefix, socketFactory: connections.socketFactory });
      const process = kafka.exclusiveProgress(`${topicPrefix}-relay`, { sessionTimeoutMs: 6_000 });
      opened.set(process, { kafka, connections });
      return process;
    },
    freeze: async (process) => connectionsOf(process).freeze(),
    thaw: async (process) => connectionsOf(process).thaw(),
    close: async () => {
      await Promise.all([made, ...[...opened.values()].map(({ kafka }) => kafka)].map((kafka) => kafka.close()));
    },
  };
});
