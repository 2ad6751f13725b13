import type { Kafka } from 'kafkajs';
import { sleep } from '@countersign/runtime';
import type { Clock, Log } from '@countersign/runtime';
import { withAdmin } from './kafka-client.js';

/** The consumer is silent and receives nothing while messages wait: only a new one helps. */
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
  /** The offset after the last received message of a partition; undefined before the first. */
  readonly received: (topic: string, partition: number) => string | undefined;
  /** For how long nothing was received although there was room. */
  readonly quietMs: () => number;
}

/** Watches for the silent stall until `over`. @throws ConsumerStalledError */
export async function awaitStall(options: StallOptions): Promise<never> {
  const { clock, group, stallAfterMs, over, quietMs, log } = options;
  for (;;) {
    await sleep(clock, stallAfterMs / 4, over);
    // The waiting caller is gone.
    if (over.aborted) return new Promise<never>(() => undefined);
    if (quietMs() < stallAfterMs) continue;
    try {
      const lag = await lagOf(options);
      if (lag === 0n || quietMs() < stallAfterMs) continue;
      const seconds = Math.round(quietMs() / 1000);
      throw new ConsumerStalledError(`group "${group}" received nothing for ${seconds} s while ${lag} messages wait`);
    } catch (error) {
      if (error instanceof ConsumerStalledError) throw error;
      log.debug({ error }, 'the lag cannot be measured');
    }
  }
}

/**
 * How many messages of this member's partitions are after its received offsets or, without any, after the group's
 * committed ones.
 */
async function lagOf({ kafka, group, assignment, received }: StallOptions): Promise<bigint> {
  const assigned = assignment();
  return withAdmin(kafka, async (admin) => {
    const committed = await admin.fetchOffsets({ groupId: group, topics: Object.keys(assigned) });
    let lag = 0n;
    for (const [topic, partitions] of Object.entries(assigned)) {
      for (const { partition, high, low } of await admin.fetchTopicOffsets(topic)) {
        if (!partitions.includes(partition)) continue;
        const ofTopic = committed.find((each) => each.topic === topic)?.partitions;
        const before = ofTopic?.find((each) => each.partition === partition)?.offset ?? -1;
        lag += waiting(received(topic, partition) ?? before, { low, high });
      }
    }
    return lag;
  });
}

/** How many messages of a partition are there from an offset on; deleted ones do not count. */
function waiting(offset: string | number, { low, high }: { readonly low: string; readonly high: string }): bigint {
  const next = BigInt(offset) > BigInt(low) ? BigInt(offset) : BigInt(low);
  return BigInt(high) > next ? BigInt(high) - next : 0n;
}
