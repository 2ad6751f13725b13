import { randomUUID } from 'node:crypto';
import { AssignerProtocol } from 'kafkajs';
import type { Kafka } from 'kafkajs';

/** A message on a topic. */
export interface StoredMessage {
  readonly partition: number;
  readonly offset: number;
  readonly key: string | null;
  readonly value: Buffer | null;
  readonly headers: Readonly<Record<string, string>>;
}

/** Everything that is on a topic now, each partition in order. */
export async function readTopic(kafka: Kafka, topic: string): Promise<readonly StoredMessage[]> {
  const ends = await withAdmin(kafka, (admin) => admin.fetchTopicOffsets(topic));
  const missing = new Map(
    ends.filter(({ high }) => high !== '0').map(({ partition, high }) => [partition, Number(high)]),
  );
  if (missing.size === 0) return [];
  const messages: StoredMessage[] = [];
  const groupId = `reader-${randomUUID()}`;
  const consumer = kafka.consumer({ groupId, sessionTimeout: 30_000, maxWaitTimeInMs: 100 });
  const done = Promise.withResolvers<undefined>();
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  await consumer.run({
    autoCommit: false,
    eachBatch: async ({ batch }) => {
      for (const { offset, key, value, headers = {} } of batch.messages) {
        const text = Object.entries(headers).map(([name, header]) => [name, String(header)] as const);
        const message = { partition: batch.partition, offset: Number(offset), key: key?.toString() ?? null };
        messages.push({ ...message, value, headers: Object.fromEntries(text) });
      }
      const last = Number(batch.messages.at(-1)?.offset ?? -1);
      if (last + 1 >= (missing.get(batch.partition) ?? 0)) missing.delete(batch.partition);
      if (missing.size === 0) done.resolve(undefined);
    },
  });
  await done.promise;
  await consumer.disconnect();
  // Only to clean up: a broker may not have noticed yet that the only member has gone.
  await withAdmin(kafka, (admin) => admin.deleteGroups([groupId])).catch(() => undefined);
  return messages.toSorted((one, other) => one.partition - other.partition || one.offset - other.offset);
}

/** How many messages of a topic a group has not committed. */
export async function lagOf(kafka: Kafka, groupId: string, topic: string): Promise<number> {
  return withAdmin(kafka, async (admin) => {
    const [committed] = await admin.fetchOffsets({ groupId, topics: [topic] });
    const ends = await admin.fetchTopicOffsets(topic);
    return ends.reduce((lag, { partition, high }) => {
      const offset = committed?.partitions.find((each) => each.partition === partition)?.offset ?? '-1';
      return lag + Number(high) - Math.max(0, Number(offset));
    }, 0);
  });
}

/** The members of a group, and its position in each partition of a topic, in words. */
export async function groupAccount(kafka: Kafka, groupId: string, topic: string): Promise<string> {
  return withAdmin(kafka, async (admin) => {
    const { groups } = await admin.describeGroups([groupId]);
    const [committed] = await admin.fetchOffsets({ groupId, topics: [topic] });
    const members = groups.flatMap(({ state, members: all }) => [
      state,
      ...all.map(({ memberId, memberAssignment }) => {
        const assigned = AssignerProtocol.MemberAssignment.decode(memberAssignment)?.assignment ?? {};
        return `${memberId} has ${JSON.stringify(assigned)}`;
      }),
    ]);
    const ends = await admin.fetchTopicOffsets(topic);
    const places = ends.map(({ partition, high }) => {
      const at = committed?.partitions.find((each) => each.partition === partition);
      return `${String(partition)}: ${at?.offset ?? 'nothing'} of ${high} (${at?.metadata ?? ''})`;
    });
    return [`group ${groupId}`, ...members, ...places].join('\n');
  });
}

async function withAdmin<T>(kafka: Kafka, work: (admin: ReturnType<Kafka['admin']>) => Promise<T>): Promise<T> {
  const admin = kafka.admin();
  await admin.connect();
  try {
    return await work(admin);
  } finally {
    await admin.disconnect();
  }
}
