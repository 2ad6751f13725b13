import type { EachBatchPayload, Kafka, Offsets } from 'kafkajs';
import { within } from '@countersign/runtime';
import type { Clock } from '@countersign/runtime';
import { Probation } from '../probation.js';
import { createWatermark } from '../watermark.js';
import type { Watermark } from '../watermark.js';
import { withAdmin } from './kafka-client.js';

/** One partition as this member has it: what is done of it. */
export interface Partition {
  readonly topic: string;
  readonly partition: number;
  /** Of the offsets that the group would go on with. */
  readonly watermark: Watermark<string>;
  readonly probation: Probation;
  /** The end of the partition when this member got it: a process that ended has read nothing behind it. */
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
  /** How many messages a process that ended may have been handling. */
  readonly suspectsMax: number;
}

/** The client gives each of its requests up before that; whatever it forgets must not hold up what comes behind. */
const answerMsMax = 30_000;

/**
 * The partitions that a member owns between two rebalances. What is done of them is committed while it lasts; once it is
 * over, nothing is: another member may own them, and goes on from its own commits.
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
    // It commits under the generation of now, and does not try again under the next one as the consumer's own does.
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

  /** What cannot be read now is asked for again with the next batch. */
  async #read(readRecords: () => Promise<CommittedRecords>): Promise<CommittedRecords> {
    try {
      return await within(this.#options.clock, answerMsMax, 'to read what the group has committed', readRecords());
    } catch (error) {
      this.#records = undefined;
      throw error;
    }
  }

  /** The offset behind the last message that was received; undefined as long as there was none. */
  received(topic: string, partition: number): string | undefined {
    return this.partition(topic, partition)?.watermark.high();
  }

  /**
   * Commits what is done and was not yet committed; `leaving` also says that this member ends in order.
   * @throws the client's error; the next commit says it all again.
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
  /** Goes with the offset, although the client's types do not say so. */
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

/** The offset behind another one. Offsets have 64 bits. */
export const after = (offset: string): string => (BigInt(offset) + 1n).toString();
