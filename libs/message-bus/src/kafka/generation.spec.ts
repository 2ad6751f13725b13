import type { EachBatchPayload, Offsets } from 'kafkajs';
import { createVirtualClock } from '@countersign/runtime/testing';
import { Fetches } from './fetches.js';
import { Generation } from './generation.js';

/** A batch from offset 5 on, and what is committed while it is the member's. */
function batchOf(partition: number, commits: unknown[]): EachBatchPayload {
  const payload = {
    batch: { topic: 't', partition, messages: [{ offset: '5' }] },
    commitOffsetsIfNecessary: async ({ topics }: Offsets) => void commits.push(topics),
  };
  return payload as unknown as EachBatchPayload;
}

describe('the partitions of a member between two rebalances', () => {
  it('are committed as far as they are done, and only what moved', async () => {
    const commits: unknown[] = [];
    const generation = new Generation();
    const [one, two] = [0, 1].map((partition) => generation.watermarkOf(batchOf(partition, commits)));
    const end = one?.begin('6');
    one?.pass('7');
    two?.pass('6');
    await generation.commit();
    end?.();
    await generation.commit();
    await generation.commit();
    expect(commits).toEqual([
      [{ topic: 't', partitions: [{ partition: 1, offset: '6' }] }],
      [{ topic: 't', partitions: [{ partition: 0, offset: '7' }] }],
    ]);
  });

  it('are committed no more once another member may have them', async () => {
    const commits: unknown[] = [];
    const generation = new Generation();
    generation.watermarkOf(batchOf(0, commits)).pass('6');
    generation.end();
    await generation.commit();
    expect([commits, generation.over]).toEqual([[], true]);
  });
});

describe('what is received', () => {
  it('may be the answer to a fetch of the time before, until that is answered or given up', async () => {
    const clock = createVirtualClock();
    const fetches = new Fetches<string>(clock);
    fetches.begin('node-1', 'before');
    fetches.begin('node-2', 'before');
    expect([fetches.mayBeStale('before'), fetches.mayBeStale('now')]).toEqual([false, true]);
    fetches.begin('node-1', 'now');
    expect(fetches.mayBeStale('now')).toBe(true);
    fetches.begin('node-2', 'now');
    expect(fetches.mayBeStale('now')).toBe(false);
    fetches.begin('node-1', 'before');
    fetches.clear();
    expect(fetches.mayBeStale('now')).toBe(false);
    fetches.begin('node-1', 'before');
    await clock.advanceAsync(60_000);
    expect(fetches.mayBeStale('now')).toBe(false);
  });
});
