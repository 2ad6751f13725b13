import { sleep } from '@countersign/runtime';
import type { ExclusiveProgress, Turn } from '../exclusive-progress.js';
import { TopicsMissingError } from './bus-errors.js';
import { ExclusiveMember } from './exclusive-member.js';
import type { ExclusiveMemberOptions } from './exclusive-member.js';
import type { KafkaTopics } from './kafka-topics.js';

export interface KafkaExclusiveProgressOptions extends ExclusiveMemberOptions {
  readonly topics: Pick<KafkaTopics, 'missing'>;
  /** Aborts when the bus closes: turns end, and nobody stands in line. */
  readonly closed: AbortSignal;
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
export function createKafkaExclusiveProgress(
  options: KafkaExclusiveProgressOptions,
): ExclusiveProgress & { readonly leave: () => Promise<void> } {
  const { clock, log, topic, topics, closed } = options;
  let last: ExclusiveMember | undefined;
  const takeOnce = async (signal: AbortSignal): Promise<Turn> => {
    await last?.leave();
    last = undefined;
    const missing = await topics.missing([topic]);
    if (missing.length > 0) throw new TopicsMissingError(missing);
    signal.throwIfAborted();
    const member = new ExclusiveMember(options);
    last = member;
    return member.take(signal);
  };
  return {
    leave: async () => last?.leave(),
    take: async (wanted) => {
      const signal = AbortSignal.any([wanted, closed]);
      for (;;) {
        signal.throwIfAborted();
        try {
          return await takeOnce(signal);
        } catch (error) {
          await last?.leave();
          signal.throwIfAborted();
          log.warn({ error }, 'it cannot stand in line for its turn, it is tried again');
          await sleep(clock, retryAfterMs, signal);
        }
      }
    },
  };
}
