import type { EachBatchPayload, Offsets } from 'kafkajs';
import { createWatermark } from '../watermark.js';
import type { Watermark } from '../watermark.js';

/** One partition as this member has it: what is done of it. */
interface Partition {
  readonly topic: string;
  readonly partition: number;
  /** Of the offsets that the group would go on with. */
  readonly watermark: Watermark<string>;
  committed: string;
}

/**
 * The partitions that a member owns between two rebalances. What is done of them is committed while it lasts; once it is
 * over, nothing is: another member may own them, and goes on from its own commits.
 */
export class Generation {
  readonly #partitions = new Map<string, Partition>();
  #commit: ((offsets: Offsets) => Promise<void>) | undefined;
  #over = false;

  get over(): boolean {
    return this.#over;
  }

  end(): void {
    this.#over = true;
  }

  /** The place where what is done of a partition is noted. */
  watermarkOf(payload: EachBatchPayload): Watermark<string> {
    // It commits under the generation of now, and does not try again under the next one as the consumer's own does.
    this.#commit = (offsets) => payload.commitOffsetsIfNecessary(offsets);
    const { batch } = payload;
    const { topic, partition } = batch;
    const name = `${topic}/${partition}`;
    let found = this.#partitions.get(name);
    if (found === undefined) {
      const start = batch.messages[0]?.offset ?? '0';
      found = { topic, partition, watermark: createWatermark(start), committed: start };
      this.#partitions.set(name, found);
    }
    return found.watermark;
  }

  /** Commits what is done and was not yet committed. @throws the client's error; the next commit says it all again. */
  async commit(): Promise<void> {
    if (this.#over || this.#commit === undefined) return;
    const moved = [...this.#partitions.values()]
      .map((each) => ({ each, offset: each.watermark.low() }))
      .filter(({ each, offset }) => offset !== each.committed);
    if (moved.length === 0) return;
    await this.#commit(
      toOffsets(moved.map(({ each: { topic, partition }, offset }) => ({ topic, partition, offset }))),
    );
    for (const { each, offset } of moved) each.committed = offset;
  }
}

function toOffsets(places: readonly { topic: string; partition: number; offset: string }[]): Offsets {
  const byTopic = Map.groupBy(places, ({ topic }) => topic);
  return {
    topics: [...byTopic].map(([topic, partitions]) => ({
      topic,
      partitions: partitions.map(({ partition, offset }) => ({ partition, offset })),
    })),
  };
}

/** The offset behind another one. Offsets have 64 bits. */
export const after = (offset: string): string => (BigInt(offset) + 1n).toString();
