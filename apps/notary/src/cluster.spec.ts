import { createGrowingTree, entryOf, isSameHash, leafHash, parseCheckpoint, parseNote } from '@countersign/audit';
import type { KeptRecord } from '@countersign/event-store';
import {
  createSimulatedEventStore,
  createSimulatedLog,
  createSimulatedRecordStreams,
  sampleEvent,
} from '@countersign/event-store/testing';
import type { RecordFault, SimulatedLog } from '@countersign/event-store/testing';
import { createSystemIds } from '@countersign/runtime';
import { createSilentLog, createVirtualClock } from '@countersign/runtime/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { Turns } from './lead.js';
import { createSeedSigner } from './log-signer.js';
import { createNotary } from './notary.js';
import type { Notary } from './notary.js';
import type { NotaryPorts } from './ports.js';
import { createSharedCheckpoints } from './shared-checkpoints.js';
import { openCheckpointFile } from './sqlite/checkpoint-file.js';
import { openTreeFile } from './sqlite/tree-file.js';

const stream = 'record-checkpoints-of-acme';
const behindMs = 10_000;
const signerOf = (key: number) => createSeedSigner(new Uint8Array(32).fill(key));
const createFolder = () => ({ trees: openTreeFile(':memory:'), checkpoints: openCheckpointFile(':memory:') });

const running = new Set<Notary>();
afterEach(async () => {
  await Promise.all([...running].map((notary) => notary.stop()));
  running.clear();
});

/** The store of a cluster: its log and its records outlive the notaries. */
function createCluster() {
  const clock = createVirtualClock();
  const [log, records] = [createSimulatedLog(), new Map<string, KeptRecord[]>()];
  const start = (more: Partial<NotaryPorts> = {}, fault?: () => RecordFault, of: SimulatedLog = log): Notary => {
    const shared = createSharedCheckpoints(createSimulatedRecordStreams(records, fault), createSystemIds());
    const store = createSimulatedEventStore({ clock, log: of });
    const base = { ...createFolder(), store, shared, clock, signer: signerOf(7), origin: 'countersign.example' };
    const notary = createNotary({ ...base, behindMs, acceptsContradiction: false, log: createSilentLog(), ...more });
    notary.start();
    running.add(notary);
    return notary;
  };
  const record = async (count: number): Promise<void> => {
    const store = createSimulatedEventStore({ clock, log });
    for (let nth = 0; nth < count; nth += 1) {
      const event = sampleEvent();
      const metadata = { ...event.metadata, tenant: 'acme' };
      await store.append(`toolCall-${event.eventId}`, -1, [{ ...event, metadata }]);
    }
  };
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 100) await clock.advanceAsync(100);
  };
  /** The sizes that were signed, each compared with the log. */
  const signedSizes = (): readonly number[] => {
    const tree = createGrowingTree();
    const roots = log.events.map((event) => {
      tree.append(leafHash(entryOf(event)));
      return tree.root();
    });
    return (records.get(stream) ?? []).map(({ data }) => {
      const [{ note }] = data['epochs'] as [{ readonly note: string }];
      const { size, root } = parseCheckpoint(parseNote(note)!.text)!;
      expect(isSameHash(roots[size - 1]!, root)).toBe(true);
      return size;
    });
  };
  return { clock, log, records, start, record, pass, signedSizes };
}

/** Turns that a test gives. */
function createTurns() {
  const waiting: ((ended: AbortSignal) => void)[] = [];
  let over = new AbortController();
  const open = (): Turns => ({
    take: (signal) =>
      new Promise((resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Error('the notary stops')));
        waiting.push((ended) => resolve({ ended, release: () => Promise.resolve() }));
      }),
  });
  const give = (): void => {
    over.abort();
    over = new AbortController();
    waiting.shift()?.(over.signal);
  };
  return { open, give };
}

const sizeOf = (note: string | undefined): number | undefined =>
  note === undefined ? undefined : parseCheckpoint(parseNote(note)!.text)!.size;

async function signed(notary: Notary): Promise<number | undefined> {
  const signing = await notary.sign('acme');
  return signing.status === 'signed' ? sizeOf(signing.note) : undefined;
}

/** Asks while the time passes, for a notary that waits. */
async function ask(notary: Notary, pass: (ms: number) => Promise<void>) {
  const signing = notary.sign('acme');
  await pass(6_000);
  return signing;
}

describe('two notaries', () => {
  it('sign in turns: the one that stands by signs nothing, and goes on where the other stopped', async () => {
    const { start, record, pass, signedSizes } = createCluster();
    const turns = createTurns();
    const [one, other] = [start({ turns: turns.open() }), start({ turns: turns.open() })];
    await record(20);
    await pass(11_000);
    expect(signedSizes()).toEqual([]);
    expect(await ask(other, pass)).toMatchObject({ status: 'unavailable', why: expect.stringContaining('standby') });
    turns.give();
    await pass(200);
    expect([one.isActive(), other.isActive()]).toEqual([true, false]);
    expect(signedSizes()).toEqual([20]);
    await record(5);
    await pass(200);
    turns.give();
    await pass(200);
    expect([one.isActive(), other.isActive()]).toEqual([false, true]);
    expect(signedSizes()).toEqual([20, 25]);
    expect(sizeOf(other.newest('acme'))).toBe(25);
    expect([one.health(), other.health()]).toEqual([{ status: 'ok' }, { status: 'ok' }]);
  });

  it('that both believe to be active sign one growing log', async () => {
    const { start, record, pass, signedSizes } = createCluster();
    const [one, other] = [start(), start()];
    for (let round = 0; round < 12; round += 1) {
      await record(3);
      await Promise.all([ask(one, pass), round % 2 === 0 ? ask(other, pass) : undefined]);
    }
    const sizes = signedSizes();
    expect(sizes.at(-1)).toBe(36);
    expect(sizes.every((size, at) => at === 0 || size > sizes[at - 1]!)).toBe(true);
    expect([one.health(), other.health()]).toEqual([{ status: 'ok' }, { status: 'ok' }]);
    await record(1);
    expect([await signed(one), await signed(other)]).toEqual([37, 37]);
  });

  it('with different keys sign nothing against each other', async () => {
    const { start, record, records, pass } = createCluster();
    await record(3);
    const first = start();
    expect(await signed(first)).toBe(3);
    const other = start({ signer: signerOf(8) });
    await record(3);
    expect(await ask(other, pass)).toMatchObject({
      status: 'unavailable',
      why: expect.stringContaining('another log key'),
    });
    expect(records.get(stream)).toHaveLength(1);
    expect(await signed(first)).toBe(6);
  });

  it('with different origins sign nothing against each other', async () => {
    const { start, record, pass } = createCluster();
    await record(3);
    const first = start();
    expect(await signed(first)).toBe(3);
    const other = start({ origin: 'other.example' });
    expect(await signed(other)).toBe(3);
    await record(3);
    expect(await ask(first, pass)).toMatchObject({ why: expect.stringContaining('COUNTERSIGN_LOG_ORIGIN') });
  });
});

describe('a notary that is killed', () => {
  it.each(['lost-request', 'lost-reply'] as const)(
    'while it keeps a checkpoint in the store (%s) leaves nothing that the next one contradicts',
    async (fault) => {
      const { start, record, pass, signedSizes } = createCluster();
      await record(10);
      const dying = start({}, () => fault);
      expect(await ask(dying, pass)).toMatchObject({ status: 'unavailable' });
      // Only what the store has is shown.
      expect(sizeOf(dying.newest('acme'))).toBe(signedSizes().at(-1));
      running.delete(dying);
      await record(2);
      expect(await signed(start())).toBe(12);
      expect(signedSizes()).toEqual(fault === 'lost-reply' ? [10, 12] : [12]);
    },
  );

  it('between the store and its own file knows at its next start what the store has', async () => {
    const { start, record, pass, signedSizes } = createCluster();
    const folder = createFolder();
    const save = (): void => {
      throw new Error('the disk is full');
    };
    await record(10);
    const dying = start({ ...folder, checkpoints: { ...folder.checkpoints, save } });
    expect(await ask(dying, pass)).toMatchObject({
      status: 'unavailable',
      why: expect.stringContaining('the disk is full'),
    });
    running.delete(dying);
    const next = start(folder);
    await pass(200);
    expect(sizeOf(next.newest('acme'))).toBe(10);
    await record(1);
    expect(await signed(next)).toBe(11);
    expect(signedSizes()).toEqual([10, 11]);
  });

  it('before its tree is stored builds the same tree', async () => {
    const { start, record, pass, signedSizes } = createCluster();
    const folder = createFolder();
    let left = 1;
    const save: NotaryPorts['trees']['save'] = (...change) => {
      if (left === 0) throw new Error('killed');
      left -= 1;
      folder.trees.save(...change);
    };
    await record(250);
    const dying = start({ ...folder, trees: { ...folder.trees, save } });
    await pass(500);
    running.delete(dying);
    expect(await signed(start(folder))).toBe(250);
    expect(signedSizes()).toEqual([250]);
  });
});

describe('a store that was put back to an older state', () => {
  const shortened = (log: SimulatedLog, count: number): SimulatedLog => ({
    ...createSimulatedLog(),
    events: log.events.slice(0, count),
  });

  it('is noticed by a notary without a folder, as long as the store has what was signed', async () => {
    const { start, record, pass, log, records } = createCluster();
    await record(20);
    expect(await signed(start())).toBe(20);
    const fresh = start({}, undefined, shortened(log, 15));
    await pass(behindMs + 3_000);
    // A cluster has no variable that accepts such a log, so none is named.
    expect(fresh.health()).toEqual({
      status: 'rewound',
      why: expect.stringMatching(/^log-rewound: .* countersign audit continue --reason TEXT$/),
    });
    expect(await ask(fresh, pass)).toMatchObject({ status: 'rewound' });
    const empty = start({}, undefined, createSimulatedLog());
    await pass(behindMs + 3_000);
    expect(empty.health()).toMatchObject({ status: 'rewound' });
    expect(records.get(stream)).toHaveLength(1);
  });

  it.each(['runs', 'starts again'])(
    'goes on as the next epoch when that is asked for, also at the notary on standby, which %s',
    async (how) => {
      const { clock, start, record, pass, log } = createCluster();
      const [folders, turns] = [[createFolder(), createFolder()], createTurns()];
      const open = (of?: SimulatedLog): Notary[] =>
        folders.map((folder) => start({ ...folder, turns: turns.open() }, undefined, of));
      const before = open();
      turns.give();
      await record(20);
      await pass(20_000);
      await Promise.all(before.map((notary) => notary.stop()));
      running.clear();
      turns.give();
      turns.give();
      const cut = shortened(log, 15);
      const [active, standby] = open(cut) as [Notary, Notary];
      turns.give();
      await pass(2 * behindMs + 3_000);
      expect([active.isActive(), standby.isActive()]).toEqual([true, false]);
      expect([active.health(), standby.health()]).toMatchObject([{ status: 'rewound' }, { status: 'rewound' }]);
      expect(await standby.goOn('acme')).toMatchObject({ status: 'unavailable' });
      const went = active.goOn('acme');
      await pass(6_000);
      expect(await went).toMatchObject({ status: 'signed', note: expect.stringMatching(/\/acme\/2\n15\n/) });
      let next = standby;
      if (how === 'starts again') {
        await standby.stop();
        running.delete(standby);
        next = start({ ...folders[1], turns: turns.open() }, undefined, cut);
      }
      await pass(12_000);
      expect([active.health(), next.health()]).toEqual([{ status: 'ok' }, { status: 'ok' }]);
      const event = sampleEvent();
      const store = createSimulatedEventStore({ clock, log: cut });
      await store.append('toolCall-late', -1, [{ ...event, metadata: { ...event.metadata, tenant: 'acme' } }]);
      if (how === 'starts again') turns.give();
      turns.give();
      await pass(11_000);
      expect(next.isActive()).toBe(true);
      expect(next.newest('acme')).toMatch(/\/acme\/2\n16\n/);
    },
  );

  it('with its records is noticed by the folder of the notary that stood by', async () => {
    const { start, record, pass, log, records } = createCluster();
    const [turns, standby] = [createTurns(), createFolder()];
    const [active, other] = [start({ turns: turns.open() }), start({ ...standby, turns: turns.open() })];
    turns.give();
    await record(20);
    await pass(20_000);
    await Promise.all([active, other].map((notary) => notary.stop()));
    running.clear();
    records.clear();
    const again = start(standby, undefined, shortened(log, 15));
    await pass(2 * behindMs + 3_000);
    expect(again.health()).toMatchObject({ status: 'rewound' });
  });

  it('is none when the store only answers with an older end for a moment', async () => {
    const { clock, start, record, pass, log, signedSizes } = createCluster();
    const folder = createFolder();
    await record(20);
    const first = start(folder);
    expect(await signed(first)).toBe(20);
    await first.stop();
    running.delete(first);
    const lagging = shortened(log, 15);
    const store = createSimulatedEventStore({ clock, log: lagging });
    const second = start({ ...folder, trees: openTreeFile(':memory:'), store });
    await pass(3_000);
    expect(second.health()).toMatchObject({ status: 'failed', why: expect.stringContaining('lag') });
    for (const event of log.events.slice(15)) {
      lagging.events.push(event);
      for (const reader of lagging.readers) reader.publish([event]);
    }
    await pass(behindMs + 3_000);
    expect(second.health()).toEqual({ status: 'ok' });
    expect(signedSizes()).toEqual([20]);
  });
});

it('a forged record of a checkpoint is not believed, and nothing is signed after it', async () => {
  const { start, record, pass, records } = createCluster();
  await record(3);
  const forger = start({ signer: signerOf(9) });
  await signed(forger);
  await forger.stop();
  running.delete(forger);
  const honest = start();
  await pass(1_000);
  expect(honest.health()).toMatchObject({ status: 'failed', why: expect.stringContaining('another log key') });
  expect(honest.newest('acme')).toBeUndefined();
  expect(records.get(stream)).toHaveLength(1);
});
