import type { EachBatchPayload, Kafka, Offsets } from 'kafkajs';
import { within } from '@countersign/runtime';
import type { Clock } from '@countersign/runtime';
import { Probation } from '../probation.js';
import { createWatermark } from '../watermark.js';
import type { Watermark } from '../watermark.js';
import { withAdmin } from './kafka-client.js';

/** One assigned partition and its progress. */
export interface Partition {
  readonly topic: string;
  readonly partition: number;
  /** For the offsets that the group would continue with. */
  readonly watermark: Watermark<string>;
  readonly probation: Probation;
  /** The end of the partition at the assignment: a crashed process has read nothing beyond it. */
  readonly end: bigint;
  committed: Commit;
}

/** A committed offset, and the record of `Probation` that is its metadata. */
interface Commit {
  readonly offset: string;
  readonly record: string;
}

/** The metadata of what a group has committed, by `topic/partition`. */
export type CommittedRecords = ReadonlyMap<string, string>;

export interface GenerationOptions {
  readonly clock: Clock;
  /** Reads what the members before have committed. */
  readonly readRecords: () => Promise<CommittedRecords>;
  /** Names this process. */
  readonly life: string;
  /** How many messages a crashed process may have been handling. */
  readonly suspectsMax: number;
}

/** The client's own timeouts are shorter. A request that it forgets must not block the next ones. */
const answerMsMax = 30_000;

/**
 * The partitions that a member owns between two rebalances. Progress is committed only during that time; afterwards
 * another member may own them and continue from its own commits.
 */
export class Generation {
  readonly #options: GenerationOptions;
  readonly #partitions = new Map<string, Partition>();
  #records: Promise<CommittedRecords> | undefined;
  #commit: ((offsets: Offsets) => Promise<void>) | undefined;
  #over = false;

  constructor(options: GenerationOptions) {
    this.#options = options;
  }

  get over(): boolean {
    return this.#over;
  }

  end(): void {
    this.#over = true;
  }

  /** A partition that was begun. */
  partition(topic: string, partition: number): Partition | undefined {
    return this.#partitions.get(nameOf(topic, partition));
  }

  /** Begins a partition: finds out what the members before have left of it. @throws the client's error */
  async begin(payload: EachBatchPayload): Promise<Partition> {
    const { life, suspectsMax, readRecords } = this.#options;
    const { topic, partition, messages, highWatermark } = payload.batch;
    const records = await (this.#records ??= this.#read(readRecords));
    // It commits with the current generation, and unlike the consumer's own commit it is not retried with the next one.
    this.#commit = (offsets) => payload.commitOffsetsIfNecessary(offsets);
    const name = nameOf(topic, partition);
    const record = records.get(name) ?? '';
    const start = messages[0]?.offset ?? '0';
    const begun = {
      ...{ topic, partition, watermark: createWatermark(start), end: BigInt(highWatermark) },
      probation: new Probation({ record, life, messagesMax: suspectsMax }),
      committed: { offset: start, record },
    };
    this.#partitions.set(name, begun);
    return begun;
  }

  /** Records that cannot be read now are read with the next batch. */
  async #read(readRecords: () => Promise<CommittedRecords>): Promise<CommittedRecords> {
    try {
      return await within(this.#options.clock, answerMsMax, 'to read what the group has committed', readRecords());
    } catch (error) {
      this.#records = undefined;
      throw error;
    }
  }

  /** The offset after the last received message; undefined before the first. */
  received(topic: string, partition: number): string | undefined {
    return this.partition(topic, partition)?.watermark.high();
  }

  /**
   * Commits the uncommitted progress. `leaving` also records that this member leaves in order.
   * @throws the client's error; the next commit contains everything again.
   */
  async commit({ leaving = false } = {}): Promise<void> {
    if (this.#over || this.#commit === undefined) return;
    const moved = [...this.#partitions.values()]
      .map((each) => {
        const { watermark, probation } = each;
        return { each, offset: watermark.low(), record: leaving ? probation.farewell : probation.record };
      })
      .filter(({ each: { committed }, offset, record }) => offset !== committed.offset || record !== committed.record);
    if (moved.length === 0) return;
    const offsets = toOffsets(moved.map(({ each, offset, record }) => ({ ...each, offset, metadata: record })));
    await within(this.#options.clock, answerMsMax, 'to commit the progress', this.#commit(offsets));
    for (const { each, offset, record } of moved) each.committed = { offset, record };
  }
}

const nameOf = (topic: string, partition: number): string => `${topic}/${partition}`;

/** Reads the metadata of what a group has committed for these topics. */
export async function readCommittedRecords(
  kafka: Kafka,
  groupId: string,
  topics: readonly string[],
): Promise<CommittedRecords> {
  const committed = await withAdmin(kafka, (admin) => admin.fetchOffsets({ groupId, topics: [...topics] }));
  return new Map(
    committed.flatMap(({ topic, partitions }) =>
      partitions.map(({ partition, metadata }) => [nameOf(topic, partition), metadata ?? ''] as const),
    ),
  );
}

interface Place {
  readonly topic: string;
  readonly partition: number;
  readonly offset: string;
  /** Sent with the offset, although the client's types lack it. */
  readonly metadata: string;
}

function toOffsets(places: readonly Place[]): Offsets {
  const byTopic = Map.groupBy(places, ({ topic }) => topic);
  return {
    topics: [...byTopic].map(([topic, partitions]) => ({
      topic,
      partitions: partitions.map(({ partition, offset, metadata }) => ({ partition, offset, metadata })),
    })),
  };
}

/** The next offset. Offsets have 64 bits. */
export const after = (offset: string): string => (BigInt(offset) + 1n).toString();
