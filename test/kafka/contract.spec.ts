import { messageBusContract } from '@countersign/message-bus/testing';
import { toEventMessage } from '@countersign/message-bus';
import type { KafkaBus } from '@countersign/message-bus/kafka';
import type { RecordedEvent } from '@countersign/contracts';
import { currentSchemaVersion } from '@countersign/contracts';
import { freshPrefix, openedKafka } from './opened.ts';
import { severable } from './severable.ts';

// A killed member is removed only after its session.

messageBusContract('Kafka', async () => {
  const topicPrefix = freshPrefix();
  const open = async (): Promise<{ kafka: KafkaBus; kill: () => void }> => {
    const { socketFactory, clock, cut } = severable();
    // A killed client would retry for minutes, also after the tests.
    const own = { socketFactory, clock, patienceMs: 4_000, stallAfterMs: 20_000 };
    return { kafka: await openedKafka({ topicPrefix, ...own }), kill: cut };
  };
  let current = await open();
  const topic = current.kafka.topics.names.events;
  await current.kafka.topics.create({ partitions: 3, replication: 1 });
  return {
    topic,
    bus: () => current.kafka.bus,
    publish: (messages) =>
      current.kafka.publisher.publish(
        topic,
        messages.map(({ id, key, type = 'ToolCallAllowed' }) => toEventMessage(event(id, key, type))),
      ),
    restart: async () => {
      await current.kafka.close();
      current = await open();
    },
    crash: async () => {
      current.kill();
      current = await open();
    },
    close: () => current.kafka.close(),
  };
});

function event(eventId: string, runId: string | null, type: RecordedEvent['type']): RecordedEvent {
  return {
    eventId,
    type,
    data: {} as RecordedEvent['data'],
    metadata: { tenant: 'default', callId: null, runId, schemaVersion: currentSchemaVersion, commandId: eventId },
    stream: 'toolCall-none',
    revision: 0,
    position: 0,
    recordedAt: '2030-01-01T00:00:00.000Z',
  };
}
