import type { Kafka } from 'kafkajs';
import { sleep } from '@countersign/runtime';
import type { Clock, Log } from '@countersign/runtime';
import { withAdmin } from './kafka-client.js';

/** The consumer says nothing and receives nothing, while messages wait: only a new one helps. */
export class ConsumerStalledError extends Error {
  override readonly name = 'ConsumerStalledError';
}

export interface StallOptions {
  readonly kafka: Kafka;
  readonly group: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly stallAfterMs: number;
  readonly over: AbortSignal;
  /** The partitions that are this member's. */
  readonly assignment: () => Readonly<Record<string, readonly number[]>>;
  /** For how long nothing was received although there was room. */
  readonly quietMs: () => number;
}

/** Watches for the silent stall until `over`. @throws ConsumerStalledError */
export async function awaitStall(options: StallOptions): Promise<never> {
  const { clock, group, stallAfterMs, over, quietMs, log } = options;
  for (;;) {
    await sleep(clock, stallAfterMs / 4, over);
    // Whoever waited for this is gone.
    if (over.aborted) return new Promise<never>(() => undefined);
    if (quietMs() < stallAfterMs) continue;
    try {
      const lag = await lagOf(options);
      if (lag === 0n || quietMs() < stallAfterMs) continue;
      const seconds = Math.round(quietMs() / 1000);
      throw new ConsumerStalledError(`group "${group}" received nothing for ${seconds} s while ${lag} messages wait`);
    } catch (error) {
      if (error instanceof ConsumerStalledError) throw error;
      log.debug({ error }, 'the lag cannot be asked for');
    }
  }
}

/** How many messages of this member's partitions wait behind what the group has committed. */
async function lagOf({ kafka, group, assignment }: StallOptions): Promise<bigint> {
  const assigned = assignment();
  return withAdmin(kafka, async (admin) => {
    const committed = await admin.fetchOffsets({ groupId: group, topics: Object.keys(assigned) });
    let lag = 0n;
    for (const [topic, partitions] of Object.entries(assigned)) {
      for (const { partition, high, low } of await admin.fetchTopicOffsets(topic)) {
        if (!partitions.includes(partition)) continue;
        const ofTopic = committed.find((each) => each.topic === topic)?.partitions;
        const offset = BigInt(ofTopic?.find((each) => each.partition === partition)?.offset ?? -1);
        const next = offset > BigInt(low) ? offset : BigInt(low);
        if (BigInt(high) > next) lag += BigInt(high) - next;
      }
    }
    return lag;
  });
}
