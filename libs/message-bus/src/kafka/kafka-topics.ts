import { sleep } from '@countersign/runtime';
import type { Clock } from '@countersign/runtime';
import kafkajs from 'kafkajs';
import type { Admin, ITopicConfig, Kafka } from 'kafkajs';
import type { TopicNames } from '../topics.js';
import { refusalOf, toBusError } from './bus-errors.js';
import { withAdmin } from './kafka-client.js';

export interface CreateTopicsOptions {
  /**
   * For the requests and events topics: how many processes can share the work. It can be increased later, never
   * decreased.
   */
  readonly partitions: number;
  /** On how many brokers each message is kept. */
  readonly replication: number;
  /**
   * The retention of messages, which limits how long a consumer may be offline; the event store keeps everything.
   * Default: 14 days.
   */
  readonly retentionMs?: number;
}

export interface TopicDescription {
  readonly topic: string;
  readonly exists: boolean;
  readonly partitions: number;
  readonly replication: number;
  /** Undefined where the process may not ask for it. */
  readonly retentionMs?: number;
  readonly minInSyncReplicas?: number;
}

/** The topics of one installation. */
export interface KafkaTopics {
  readonly names: TopicNames;
  /** Creates the missing topics and leaves the others unchanged. Returns the created ones. */
  readonly create: (options: CreateTopicsOptions) => Promise<readonly string[]>;
  readonly describe: () => Promise<readonly TopicDescription[]>;
  /** Returns which of the given topics (default: all) are missing. @throws BusUnavailableError */
  readonly missing: (topics?: readonly string[]) => Promise<readonly string[]>;
}

const dayMs = 86_400_000;
/** An output may be 4 MiB, and its event carries some more. */
const messageBytesMax = 8 * 1024 * 1024;
/** A dead letter is the message with extra headers: why, from where and for which group it was parked. */
const letterBytesMax = messageBytesMax + 1024 * 1024;

/** How long a new topic may take until each partition has a leader. */
const leadersWithinMs = 30_000;
/** The brokers' errors for a partition without a leader, or with a changing one. */
const leaderlessAnswers = new Set(['UNKNOWN_TOPIC_OR_PARTITION', 'LEADER_NOT_AVAILABLE', 'NOT_LEADER_FOR_PARTITION']);

export function createKafkaTopics(kafka: Kafka, names: TopicNames, clock: Clock): KafkaTopics {
  const all = [names.requests, names.events, names.deadLetters, names.checkpoints];
  const missing = async (topics: readonly string[] = all): Promise<readonly string[]> => {
    try {
      const there = new Set(await withAdmin(kafka, (admin) => admin.listTopics()));
      return topics.filter((topic) => !there.has(topic));
    } catch (error) {
      throw toBusError(error, 'Kafka cannot be asked for its topics');
    }
  };
  return {
    names,
    missing,
    create: async ({ partitions, replication, retentionMs = 14 * dayMs }) => {
      const wanted = await missing();
      const topics = wanted.map((topic) => ({
        topic,
        // One partition, so that the few letters have one order.
        numPartitions: topic === names.deadLetters ? 1 : partitions,
        replicationFactor: replication,
        configEntries: [
          { name: 'cleanup.policy', value: 'delete' },
          { name: 'retention.ms', value: String(retentionMs) },
          { name: 'min.insync.replicas', value: String(Math.max(1, replication - 1)) },
          { name: 'max.message.bytes', value: String(topic === names.deadLetters ? letterBytesMax : messageBytesMax) },
          // With the sender's compression: consumers need no configuration, and a parked message does not grow.
          { name: 'compression.type', value: 'uncompressed' },
        ],
      }));
      try {
        if (topics.length > 0) await withAdmin(kafka, (admin) => createWithLeaders(admin, topics, clock));
      } catch (error) {
        throw toBusError(error, 'the topics cannot be created');
      }
      return wanted;
    },
    describe: async () => {
      const absent = new Set(await missing());
      const described = await describe(
        kafka,
        all.filter((topic) => !absent.has(topic)),
      );
      return all.map(
        (topic) =>
          described.find((each) => each.topic === topic) ?? { topic, exists: false, partitions: 0, replication: 0 },
      );
    },
  };
}

/**
 * Creates topics, and waits until the leader of every partition responds as its leader. The client's own wait
 * (`waitForLeaders`) fails when the asked broker does not know a topic yet, and ends before a leader knows its role: a
 * consumer that starts then loses its partition again, and handles messages twice.
 */
export async function createWithLeaders(admin: Admin, topics: ITopicConfig[], clock: Clock): Promise<void> {
  await admin.createTopics({ topics, waitForLeaders: false });
  const names = topics.map(({ topic }) => topic);
  for (const name of names) await onceLed(clock, () => admin.fetchTopicOffsets(name));
}

/** Retries for up to 30 s while a topic is being created, or while the leader of a partition changes. */
export async function onceLed<T>(clock: Clock, ask: () => Promise<T>): Promise<T> {
  const giveUpAtMs = clock.monotonic() + leadersWithinMs;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!leaderlessAnswers.has(refusalOf(error) ?? '') || clock.monotonic() >= giveUpAtMs) throw error;
    }
    await sleep(clock, 100);
  }
}

async function describe(kafka: Kafka, topics: string[]): Promise<readonly TopicDescription[]> {
  if (topics.length === 0) return [];
  return withAdmin(kafka, async (admin) => {
    const metadata = await admin.fetchTopicMetadata({ topics });
    const resources = topics.map((name) => ({
      // Node does not detect this export of the client's module.
      type: kafkajs.ConfigResourceTypes.TOPIC,
      name,
      configNames: ['retention.ms', 'min.insync.replicas'],
    }));
    const configs = await admin.describeConfigs({ resources, includeSynonyms: false });
    return metadata.topics.map(({ name, partitions }) => {
      const entries = configs.resources.find(({ resourceName }) => resourceName === name)?.configEntries ?? [];
      const numberOf = (setting: string): number =>
        Number(entries.find((each) => each.configName === setting)?.configValue);
      return {
        topic: name,
        exists: true,
        partitions: partitions.length,
        replication: Math.min(...partitions.map(({ replicas }) => replicas.length)),
        retentionMs: numberOf('retention.ms'),
        minInSyncReplicas: numberOf('min.insync.replicas'),
      };
    });
  });
}
