import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RecordedEvent } from '@countersign/contracts';
import { systemClock } from '@countersign/runtime';
import { createSilentLog, createVirtualClock } from '@countersign/runtime/testing';
import { expectCommitted } from '../event-store.contract.js';
import type { AppendResult } from '../event-store.js';
import { noStream } from '../event-store.js';
import { readable, sampleEvent, sampleEvents, sampleStream } from '../sample-events.js';
import type { AppendRequest } from './appender.js';
import type { CommitMeasure } from './commit.js';
import { openEmbeddedEventStore } from './embedded-event-store.js';
import type { EmbeddedEventStore } from './embedded-event-store.js';
import { createGroupCommit } from './group-commit.js';

let folder: string;
let store: EmbeddedEventStore;
let measures: CommitMeasure[];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-'));
  measures = [];
  const metrics = { onCommit: (measure: CommitMeasure) => void measures.push(measure) };
  store = await openEmbeddedEventStore({ folder, log: createSilentLog(), clock: systemClock, metrics });
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

describe('a group commit', () => {
  it('flushes hundreds of concurrent appends a few times', async () => {
    await Promise.all(Array.from({ length: 500 }, () => store.append(sampleStream(), noStream, sampleEvents(1))));
    const { commits, appends, events, bytes } = store.stats();
    expect(commits).toBeLessThanOrEqual(2);
    expect([appends, events]).toEqual([500, 500]);
    expect(bytes).toBeGreaterThan(50_000);
    expect(measures.map((measure) => measure.appends).reduce((sum, each) => sum + each)).toBe(500);
  });

  it('goes on gathering under load, for appends that come a turn later', async () => {
    const writer = async (): Promise<void> => {
      for (let round = 0; round < 20; round += 1) await store.append(sampleStream(), noStream, sampleEvents(1));
    };
    await Promise.all(Array.from({ length: 100 }, writer));
    expect(store.stats().appends / store.stats().commits).toBeGreaterThan(80);
  });

  it('commits an append alone at once', async () => {
    for (let round = 0; round < 5; round += 1) await store.append(sampleStream(), noStream, sampleEvents(1));
    expect(measures.map(({ appends }) => appends)).toEqual([1, 1, 1, 1, 1]);
  });

  it('judges each append by those before it in the group, and fails none for the conflict of another', async () => {
    const [stream, other] = [sampleStream(), sampleStream()];
    const results = await Promise.all([
      store.append(stream, noStream, [sampleEvent('first')]),
      store.append(stream, noStream, [sampleEvent('rival')]),
      store.append(stream, 0, [sampleEvent('second')]),
      store.append(other, 3, [sampleEvent('lost')]),
      store.append(other, noStream, [sampleEvent('third')]),
    ]);
    expect(results.map(({ status }) => status)).toEqual([
      'committed',
      'conflict',
      'committed',
      'conflict',
      'committed',
    ]);
    expect(store.stats().commits).toBe(1);
    expect(readable(await store.readAll(0, 10)).map(({ data }) => (data as { reason: string }).reason)).toEqual([
      'first',
      'second',
      'third',
    ]);
  });

  it('fails alone what cannot be stored', async () => {
    const impossible = { ...sampleEvent(), data: { reason: 1n } as never };
    const [bad, good] = await Promise.allSettled([
      store.append(sampleStream(), noStream, [impossible]),
      store.append(sampleStream(), noStream, sampleEvents(1)),
    ]);
    expect([bad.status, good.status]).toEqual(['rejected', 'fulfilled']);
  });

  it('writes nothing for a group of repeats and conflicts', async () => {
    const [stream, events] = [sampleStream(), sampleEvents(1)];
    await store.append(stream, noStream, events);
    await Promise.all([store.append(stream, noStream, events), store.append(stream, 7, sampleEvents(1))]);
    expect(store.stats().commits).toBe(1);
  });

  it('shows the events to live readers before it answers the writer', async () => {
    const seen: RecordedEvent[] = [];
    await new Promise<void>((resolve) => {
      store.subscribe(0, {
        onEvents: (events) => void seen.push(...readable(events)),
        onCaughtUp: resolve,
        onError: () => undefined,
      });
    });
    const result = expectCommitted(await store.append(sampleStream(), noStream, sampleEvents(2)));
    expect(seen).toEqual(result.events);
  });

  it('commits what is waiting when the store is closed', async () => {
    const appending = store.append('a', noStream, sampleEvents(1));
    await store.close();
    expect(expectCommitted(await appending).revision).toBe(0);
    store = await openEmbeddedEventStore({ folder, log: createSilentLog(), clock: systemClock });
    expect(await store.readStream('a')).toHaveLength(1);
  });

  it('reads on for a subscriber far behind, from the file', async () => {
    const stream = sampleStream();
    await Promise.all(
      Array.from({ length: 600 }, () => store.append(sampleStream(), noStream, [sampleEvent('x'.repeat(20_000))])),
    );
    await store.append(stream, noStream, sampleEvents(1));
    const seen: number[] = [];
    await new Promise<void>((resolve, reject) => {
      store.subscribe(0, {
        onEvents: (events) => void seen.push(...events.map(({ position }) => position)),
        onCaughtUp: resolve,
        onError: reject,
      });
    });
    expect(seen).toEqual(Array.from({ length: 601 }, (_, index) => index + 1));
  });
});

describe('gathering', () => {
  const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

  /** A group commit that notes the sizes of its groups, on a clock that the test moves. */
  function gathering() {
    const sizes: number[] = [];
    const clock = createVirtualClock();
    const commit = (group: readonly AppendRequest[]): readonly AppendResult[] => {
      sizes.push(group.length);
      return group.map(() => ({ status: 'conflict', actualRevision: 0 }));
    };
    const { append } = createGroupCommit({ commit, afterCommit: () => undefined, monotonic: clock.monotonic });
    const arrive = (count: number): void => {
      for (let each = 0; each < count; each += 1) void append({ stream: 'a', expectedRevision: 0, events: [] });
    };
    return { sizes, clock, arrive };
  }

  it('after a small group takes what one turn brings', async () => {
    const { sizes, arrive } = gathering();
    for (let round = 0; round < 3; round += 1) {
      arrive(2);
      await turn();
    }
    expect(sizes).toEqual([2, 2, 2]);
  });

  it('after a large group waits for further turns, until one brings nothing', async () => {
    const { sizes, arrive } = gathering();
    arrive(20);
    await turn();
    for (const count of [10, 10, 10, 0, 0]) {
      arrive(count);
      await turn();
    }
    expect(sizes).toEqual([20, 30]);
  });

  it('ends after a millisecond, also while more commands arrive', async () => {
    const { sizes, clock, arrive } = gathering();
    arrive(20);
    await turn();
    for (let round = 0; round < 8; round += 1) {
      arrive(10);
      clock.advance(0.4);
      await turn();
    }
    expect(sizes[1]).toBeLessThanOrEqual(40);
  });

  it('ends with a full group; the rest is the next one', async () => {
    const { sizes, arrive } = gathering();
    arrive(1200);
    for (let round = 0; round < 4; round += 1) await turn();
    expect(sizes).toEqual([512, 512, 176]);
  });
});

describe('a position after the end of the log', () => {
  it('is an error: the log was put back to an older state', async () => {
    await store.append('a', noStream, sampleEvents(2));
    const error = await new Promise((resolve) => {
      store.subscribe(3, { onEvents: () => undefined, onError: resolve });
    });
    expect(error).toEqual(
      new RangeError('position 3 is after the end of the log (2): the log was put back to an older state'),
    );
  });
});
