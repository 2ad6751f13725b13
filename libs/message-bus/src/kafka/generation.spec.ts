import type { EachBatchPayload, Offsets } from 'kafkajs';
import { createVirtualClock } from '@countersign/runtime/testing';
import { Fetches } from './fetches.js';
import { Generation } from './generation.js';

/** A batch from offset 5 on, and what is committed while it is the member's. */
function batchOf(partition: number, commits: unknown[]): EachBatchPayload {
  const payload = {
    batch: { topic: 't', partition, messages: [{ offset: '5' }], highWatermark: '100' },
    commitOffsetsIfNecessary: async ({ topics }: Offsets) => void commits.push(topics),
  };
  return payload as unknown as EachBatchPayload;
}

const clock = createVirtualClock();

const open = (records: Readonly<Record<string, string>> = {}): Generation =>
  openWith(async () => new Map(Object.entries(records)));

const openWith = (readRecords: () => Promise<ReadonlyMap<string, string>>): Generation =>
  new Generation({ clock, readRecords, life: 'me', suspectsMax: 10 });

const together = 'together 0 me';
const at = (partition: number, offset: string, metadata = together) => [
  { topic: 't', partitions: [{ partition, offset, metadata }] },
];

describe('the partitions of a member between two rebalances', () => {
  it('are committed as far as they are done, and only what moved', async () => {
    const commits: unknown[] = [];
    const generation = open();
    const [one, two] = await Promise.all(
      [0, 1].map(async (partition) => (await generation.begin(batchOf(partition, commits))).watermark),
    );
    const end = one?.begin('6');
    one?.pass('7');
    two?.pass('6');
    await generation.commit();
    end?.();
    await generation.commit();
    await generation.commit();
    const started = { partition: 0, offset: '5', metadata: together };
    expect(commits).toEqual([
      [{ topic: 't', partitions: [started, { partition: 1, offset: '6', metadata: together }] }],
      at(0, '7'),
    ]);
  });

  it('are committed no more once another member may have them', async () => {
    const commits: unknown[] = [];
    const generation = open();
    (await generation.begin(batchOf(0, commits))).watermark.pass('6');
    generation.end();
    await generation.commit();
    expect([commits, generation.over]).toEqual([[], true]);
  });
});

describe('brokers that do not answer', () => {
  const never = new Promise<never>(() => undefined);

  it('are asked again what is committed, with the next batch', async () => {
    const answers = [never, Promise.reject(new Error('the connection broke')), Promise.resolve(new Map([['t/0', '']]))];
    const generation = openWith(() => answers.shift() ?? never);
    const late = generation.begin(batchOf(0, [])).catch(String);
    clock.advance(30_000);
    expect(await late).toBe('Error: it took longer than 30 s to read what the group has committed');
    expect(await generation.begin(batchOf(0, [])).catch(String)).toBe('Error: the connection broke');
    expect((await generation.begin(batchOf(0, []))).committed.offset).toBe('5');
  });

  it('hold up a commit for 30 s, and the next one says it all again', async () => {
    const commits: unknown[] = [];
    const payload = batchOf(0, commits);
    let isHanging = true;
    const generation = open();
    const { watermark } = await generation.begin({
      ...payload,
      commitOffsetsIfNecessary: (offsets) => (isHanging ? never : payload.commitOffsetsIfNecessary(offsets)),
    });
    watermark.pass('6');
    const late = generation.commit().catch(String);
    clock.advance(30_000);
    expect(await late).toBe('Error: it took longer than 30 s to commit the progress');
    isHanging = false;
    await generation.commit();
    expect(commits).toEqual([at(0, '6')]);
  });
});

describe('the metadata of a commit', () => {
  it('says who handles the partition, and nothing any more when that one leaves in order', async () => {
    const commits: unknown[] = [];
    const generation = open({ 't/0': '' });
    const { probation } = await generation.begin(batchOf(0, commits));
    await generation.commit();
    await generation.commit();
    await generation.commit({ leaving: true });
    expect([probation.over, commits]).toEqual([true, [at(0, '5'), at(0, '5', '')]]);
  });

  it('costs no commit where the partition comes back to the same process', async () => {
    const commits: unknown[] = [];
    const generation = open({ 't/0': together });
    const { probation } = await generation.begin(batchOf(0, commits));
    await generation.commit();
    expect([probation.over, commits]).toEqual([true, []]);
  });

  it('tells the next process which message to handle alone, and how many it has ended', async () => {
    const commits: unknown[] = [];
    const generation = open({ 't/0': 'alone 1 another' });
    const { probation } = await generation.begin(batchOf(0, commits));
    const store = () => generation.commit();
    const trial = probation.trial(store, store);
    await trial.begin();
    await trial.end();
    expect(trial.crashes).toBe(2);
    expect(commits).toEqual([at(0, '5', 'alone 2 me'), at(0, '5', 'suspect 2 me')]);
  });
});

describe('a received batch', () => {
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
