import { sleep } from '@countersign/runtime';
import type { ExclusiveProgress, Turn } from '../exclusive-progress.js';
import { explain, TopicsMissingError } from './bus-errors.js';
import { ExclusiveMember } from './exclusive-member.js';
import type { ExclusiveMemberOptions } from './exclusive-member.js';
import type { KafkaTopics } from './kafka-topics.js';

export interface KafkaExclusiveProgressOptions extends ExclusiveMemberOptions {
  readonly topics: Pick<KafkaTopics, 'missing'>;
  /** Aborts when the bus closes: terms end, and candidates leave. */
  readonly closed: AbortSignal;
}

/** Stored so that the bus can leave it when it closes. */
export interface KafkaExclusiveProgress extends ExclusiveProgress {
  readonly leave: () => Promise<void>;
  /** Why it cannot be a candidate; undefined when it can. */
  readonly interruption: () => string | undefined;
}

const retryAfterMs = 1_000;

/**
 * Leader election through Kafka, with the progress. The candidates are one consumer group; the member that owns
 * partition 0 of the topic is the leader, and the progress is the metadata of that partition's committed offset.
 * Nothing is consumed. The broker refuses the commit of a removed member, so a former leader that wakes up cannot
 * overwrite its successor's progress.
 *
 * A progress has at most 4,096 bytes (`offset.metadata.max.bytes`). It is kept while the group has a member and 7 days
 * longer (`offsets.retention.minutes`); then it starts empty.
 */
export function createKafkaExclusiveProgress(options: KafkaExclusiveProgressOptions): KafkaExclusiveProgress {
  const { clock, log, topic, topics, closed } = options;
  let last: ExclusiveMember | undefined;
  let interruption: string | undefined;
  const onJoined = (): void => void (interruption = undefined);
  const takeOnce = async (signal: AbortSignal): Promise<Turn> => {
    await last?.leave();
    last = undefined;
    const missing = await topics.missing([topic]);
    if (missing.length > 0) throw new TopicsMissingError(missing);
    signal.throwIfAborted();
    const member = new ExclusiveMember({ ...options, onJoined });
    last = member;
    return member.take(signal);
  };
  return {
    leave: async () => last?.leave(),
    interruption: () => interruption,
    take: async (wanted) => {
      const signal = AbortSignal.any([wanted, closed]);
      for (;;) {
        signal.throwIfAborted();
        try {
          return await takeOnce(signal);
        } catch (error) {
          await last?.leave();
          signal.throwIfAborted();
          const why = explain(error);
          if (why !== interruption) log.warn({ error }, `cannot stand for leadership, retrying: ${why}`);
          interruption = why;
          await sleep(clock, retryAfterMs, signal);
        }
      }
    },
  };
}
