import type { EachBatchPayload, Kafka, KafkaMessage as Received } from 'kafkajs';
import type { Clock, Ids } from '@countersign/runtime';
import type { DeadLetter, DeadLetters } from '../message-bus.js';
import { toBusError } from './bus-errors.js';
import { markedBy, toDeadLetter, toMarkHeaders, toReplayHeaders } from './dead-letter-headers.js';
import { withAdmin } from './kafka-client.js';
import type { KafkaSender } from './kafka-publisher.js';
import { onceLed } from './kafka-topics.js';
import type { KafkaTopics } from './kafka-topics.js';

export interface KafkaDeadLettersOptions {
  readonly kafka: Kafka;
  readonly topics: Pick<KafkaTopics, 'missing' | 'names'>;
  readonly sender: KafkaSender;
  readonly ids: Pick<Ids, 'uuid'>;
  readonly clock: Clock;
}

/** A letter with the bytes it was parked with. */
interface Kept {
  readonly letter: DeadLetter;
  readonly received: Received;
}

/**
 * The parked messages. Each call reads the dead-letter topic from its beginning, so no other state is kept: for people
 * and tools, not for a hot path. The id of a letter is `<partition>-<offset>`.
 *
 * A replay publishes the original to its own topic, with a header that names the group; other groups skip it. Then a
 * mark is written to the dead-letter topic that removes the letter from the list. The letter itself stays until the
 * topic's retention deletes it, replayed or not. A crash between the two writes, or two simultaneous replays of one
 * letter, deliver it twice.
 */
export function createKafkaDeadLetters(options: KafkaDeadLettersOptions): DeadLetters {
  const { topics, sender } = options;
  let replaying = Promise.resolve(false);
  const replay = async (id: string): Promise<boolean> => {
    const found = (await readAll(options)).find(({ letter }) => letter.id === id);
    if (found === undefined) return false;
    const { letter, received } = found;
    const headers = toReplayHeaders(received, letter.group);
    await sender.send(letter.topic, [{ key: received.key, value: received.value, headers }]);
    await sender.send(topics.names.deadLetters, [{ key: received.key, value: null, headers: toMarkHeaders(id) }]);
    return true;
  };
  return {
    list: async ({ group, after, limit = 100 } = {}) => {
      const letters = (await readAll(options)).map(({ letter }) => letter);
      const rest = after === undefined ? letters : letters.filter(({ id }) => compareIds(id, after) > 0);
      return rest.filter((letter) => group === undefined || letter.group === group).slice(0, limit);
    },
    show: async (id) => (await readAll(options)).find(({ letter }) => letter.id === id)?.letter,
    // In order: the second one must see the mark of the first.
    replay: (id) =>
      (replaying = replaying.then(
        () => replay(id),
        () => replay(id),
      )),
  };
}

/** Every letter that was not replayed, oldest first. */
async function readAll(options: KafkaDeadLettersOptions): Promise<readonly Kept[]> {
  try {
    const messages = await readTopic(options);
    const struck = new Set(messages.map(({ received }) => markedBy(received)));
    return messages
      .filter(({ id, received }) => markedBy(received) === undefined && !struck.has(id))
      .map(({ id, received }) => ({ letter: toDeadLetter(id, received), received }))
      .sort((one, other) => compareIds(one.letter.id, other.letter.id));
  } catch (error) {
    throw toBusError(error, 'the dead letters cannot be read');
  }
}

/** Everything that the topic holds now. */
async function readTopic({
  kafka,
  topics,
  ids,
  clock,
}: KafkaDeadLettersOptions): Promise<{ id: string; received: Received }[]> {
  const topic = topics.names.deadLetters;
  if ((await topics.missing([topic])).length > 0) return [];
  const offsets = await withAdmin(kafka, (admin) => onceLed(clock, () => admin.fetchTopicOffsets(topic)));
  const unread = new Map(
    offsets
      .filter(({ high, low }) => BigInt(high) > BigInt(low))
      .map(({ partition, high }) => [partition, BigInt(high)]),
  );
  const messages: { id: string; received: Received }[] = [];
  if (unread.size === 0) return messages;
  // Kafka's client reads only as a member of a group: a temporary one, which is deleted afterwards.
  const groupId = `${topic}.reader-${ids.uuid()}`;
  const consumer = kafka.consumer({ groupId, allowAutoTopicCreation: false, maxWaitTimeInMs: 100 });
  try {
    await consumer.connect();
    await consumer.subscribe({ topics: [topic], fromBeginning: true });
    await new Promise<void>((resolve, reject) => {
      const take = async ({ batch }: EachBatchPayload): Promise<void> => {
        for (const received of batch.messages) messages.push({ id: `${batch.partition}-${received.offset}`, received });
        const high = unread.get(batch.partition);
        if (high !== undefined && BigInt(batch.lastOffset()) + 1n >= high) unread.delete(batch.partition);
        if (unread.size === 0) resolve();
      };
      consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error));
      consumer.run({ autoCommit: false, eachBatch: take }).catch(reject);
    });
  } finally {
    await consumer.disconnect();
    await withAdmin(kafka, (admin) => admin.deleteGroups([groupId])).catch(() => undefined);
  }
  return messages;
}

/** In the order of parking within a partition; by default the topic has one partition. */
function compareIds(one: string, other: string): number {
  const [[onePartition = 0n, oneOffset = 0n], [otherPartition = 0n, otherOffset = 0n]] = [parseId(one), parseId(other)];
  const difference = oneOffset === otherOffset ? onePartition - otherPartition : oneOffset - otherOffset;
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

function parseId(id: string): readonly bigint[] {
  return /^\d+-\d+$/.test(id) ? id.split('-').map(BigInt) : [];
}
