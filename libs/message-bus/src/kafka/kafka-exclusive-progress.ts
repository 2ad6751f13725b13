import { sleep } from '@countersign/runtime';
import type { ExclusiveProgress, Turn } from '../exclusive-progress.js';
import { explain, TopicsMissingError } from './bus-errors.js';
import { ExclusiveMember } from './exclusive-member.js';
import type { ExclusiveMemberOptions } from './exclusive-member.js';
import type { KafkaTopics } from './kafka-topics.js';

export interface KafkaExclusiveProgressOptions extends ExclusiveMemberOptions {
  readonly topics: Pick<KafkaTopics, 'missing'>;
  /** Aborts when the bus closes: turns end, and nobody stands in line. */
  readonly closed: AbortSignal;
}

/** As the bus has it: it must be left when the bus closes. */
export interface KafkaExclusiveProgress extends ExclusiveProgress {
  readonly leave: () => Promise<void>;
  /** Why it cannot even stand in line; undefined when it does. */
  readonly interruption: () => string | undefined;
}

const retryAfterMs = 1_000;

/**
 * One active process among those of a group, with its progress in Kafka: a consumer group of its own, whose member that
 * owns partition 0 of the topic is the active one, and the progress is the metadata of that partition's committed
 * offset. Nothing is consumed. The broker itself refuses the commit of a member that it has taken for dead, so a process
 * that wakes up late cannot overwrite what its successor has kept.
 *
 * A progress is at most 4,096 bytes (`offset.metadata.max.bytes`). It is kept for as long as the group has a member, and
 * 7 days longer (`offsets.retention.minutes`); afterwards it begins with nothing kept.
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
          if (why !== interruption) log.warn({ error }, `no place in the line for its turn, it is tried again: ${why}`);
          interruption = why;
          await sleep(clock, retryAfterMs, signal);
        }
      }
    },
  };
}
