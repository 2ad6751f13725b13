import {
  createGrowingTree,
  entryOf,
  leafHash,
  parseCheckpoint,
  parseNote,
  parseTlogProof,
  parseVkey,
  verifyInclusion,
  verifyNote,
} from '@countersign/audit';
import type { Checkpoint } from '@countersign/audit';
import type { NewEvent } from '@countersign/contracts';
import { createSimulatedEventStore, createSimulatedLog, sampleEvent } from '@countersign/event-store/testing';
import type { SimulatedLog } from '@countersign/event-store/testing';
import { createSilentLog, createVirtualClock } from '@countersign/runtime/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import { createSeedSigner } from './log-signer.js';
import { createNotary } from './notary.js';
import type { Notary } from './notary.js';
import type { NotaryPorts } from './ports.js';
import { openCheckpointFile } from './sqlite/checkpoint-file.js';
import { openTreeFile } from './sqlite/tree-file.js';

const signer = createSeedSigner(new Uint8Array(32).fill(7));

/** The files that a restarted process finds again. */
function createFolder() {
  return { trees: openTreeFile(':memory:'), checkpoints: openCheckpointFile(':memory:') };
}

const running = new Set<Notary>();
afterEach(async () => {
  await Promise.all([...running].map((notary) => notary.stop()));
  running.clear();
});

function start(folder: ReturnType<typeof createFolder>, log: SimulatedLog, more: Partial<NotaryPorts> = {}) {
  const clock = createVirtualClock();
  const store = createSimulatedEventStore({ clock, log });
  const base = { ...folder, store, clock, signer, origin: 'countersign.example', acceptsContradiction: false };
  const notary = createNotary({ ...base, log: createSilentLog(), ...more });
  notary.start();
  running.add(notary);
  const stop = async (): Promise<void> => {
    running.delete(notary);
    await notary.stop();
  };
  return { notary, store, clock, stop };
}

async function record(log: SimulatedLog, events: readonly NewEvent[]): Promise<void> {
  const store = createSimulatedEventStore({ clock: createVirtualClock(), log });
  for (const event of events) await store.append(`toolCall-${event.eventId}`, -1, [event]);
}

const eventsOf = (count: number, tenant = 'acme'): NewEvent[] =>
  Array.from({ length: count }, () => {
    const event = sampleEvent();
    return { ...event, metadata: { ...event.metadata, tenant } };
  });

async function signed(notary: Notary, tenant = 'acme'): Promise<Checkpoint> {
  const signing = await notary.sign(tenant);
  if (signing.status !== 'signed') throw new Error(JSON.stringify(signing));
  return read(notary, signing.note, tenant);
}

async function read(notary: Notary, note: string, tenant = 'acme'): Promise<Checkpoint> {
  const parsed = parseNote(note)!;
  const key = parseVkey((await notary.vkeys(tenant))[0]!)!;
  expect(verifyNote(parsed, [key]).verified).toEqual([key]);
  return parseCheckpoint(parsed.text)!;
}

/** The root over the first events of a tenant, computed apart. */
function rootOf(log: SimulatedLog, size: number, tenant = 'acme'): Uint8Array {
  const tree = createGrowingTree();
  const events = log.events.filter(({ metadata }) => metadata.tenant === tenant);
  for (const event of events.slice(0, size)) tree.append(leafHash(entryOf(event)));
  return tree.root();
}

/** Lets the notary take what was recorded, and the time pass. */
async function pass(clock: ReturnType<typeof createVirtualClock>, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 100) await clock.advanceAsync(100);
}

describe('notary', () => {
  it('signs the tree of an existing log, from its first event, for each tenant', async () => {
    const log = createSimulatedLog();
    await record(log, [...eventsOf(300), ...eventsOf(3, 'zeta'), ...eventsOf(250)]);
    const { notary } = start(createFolder(), log);
    expect(await signed(notary)).toEqual({
      ...{ origin: 'countersign.example/acme/1', size: 550, root: rootOf(log, 550), extensions: [] },
    });
    expect(await signed(notary, 'zeta')).toMatchObject({ size: 3, root: rootOf(log, 3, 'zeta') });
    expect(await notary.sign('nobody')).toEqual({ status: 'empty' });
  });

  it('continues its tree after a stop, and builds the same one when its file is deleted', async () => {
    const [log, folder] = [createSimulatedLog(), createFolder()];
    await record(log, eventsOf(700));
    const first = start(folder, log);
    expect(await signed(first.notary)).toMatchObject({ size: 700 });
    await first.stop();
    await record(log, eventsOf(5));
    const second = start(folder, log);
    expect(await signed(second.notary)).toMatchObject({ size: 705, root: rootOf(log, 705) });
    await second.stop();
    const third = start({ ...folder, trees: openTreeFile(':memory:') }, log);
    expect(await signed(third.notary)).toMatchObject({ size: 705, root: rootOf(log, 705) });
    expect(third.notary.health()).toEqual({ status: 'ok' });
  });

  it('signs at the latest 10 s after an event, after 1,000 events, and at a stop', async () => {
    const log = createSimulatedLog();
    const { notary, clock, stop } = start(createFolder(), log);
    const sizeNow = async (): Promise<number | undefined> => {
      const note = notary.newest('acme');
      return note === undefined ? undefined : (await read(notary, note)).size;
    };
    await pass(clock, 200);
    await record(log, eventsOf(1));
    await pass(clock, 8_000);
    expect(await sizeNow()).toBeUndefined();
    await pass(clock, 2_000);
    expect(await sizeNow()).toBe(1);
    await record(log, eventsOf(1000));
    await pass(clock, 1_000);
    expect(await sizeNow()).toBeGreaterThan(1);
    await record(log, eventsOf(2));
    await stop();
    expect(await sizeNow()).toBe(1003);
  });

  it.each(['before', 'after'] as const)('has each event once when a write fails %s it was made', async (when) => {
    const [log, folder] = [createSimulatedLog(), createFolder()];
    let failures = 3;
    const save: NotaryPorts['trees']['save'] = (...change) => {
      if (when === 'after' || failures === 0) folder.trees.save(...change);
      if (failures === 0) return;
      failures -= 1;
      throw new Error('the disk is full');
    };
    await record(log, eventsOf(650));
    const { notary, clock } = start({ ...folder, trees: { ...folder.trees, save } }, log);
    await pass(clock, 200);
    expect(notary.health()).toMatchObject({ status: 'failed', why: expect.stringContaining('the disk is full') });
    expect(await notary.sign('acme')).toMatchObject({ status: 'unavailable' });
    await pass(clock, 20_000);
    expect(await signed(notary)).toMatchObject({ size: 650, root: rootOf(log, 650) });
    expect(notary.health()).toEqual({ status: 'ok' });
  });

  it('leaves large events in the log until it has taken others', async () => {
    const log = createSimulatedLog();
    const large = eventsOf(40).map((event) => ({ ...event, data: { ...event.data, reason: 'x'.repeat(600_000) } }));
    await record(log, large);
    expect(await signed(start(createFolder(), log).notary)).toMatchObject({ size: 40, root: rootOf(log, 40) });
  });

  it('has events in the tree that this version cannot read', async () => {
    const log = createSimulatedLog();
    await record(log, eventsOf(2));
    const [one, two] = log.events;
    const stored = { metadata: two!.metadata, data: { of: 'a later version' } };
    // As the decoder returns them.
    log.events[1] = { ...two!, data: undefined, unreadable: 'a reason', stored } as never;
    const tree = createGrowingTree();
    for (const event of [one!, { ...two!, data: stored.data }]) tree.append(leafHash(entryOf(event)));
    expect(await signed(start(createFolder(), log).notary)).toMatchObject({ size: 2, root: tree.root() });
  });

  it('has without an origin one that comes from the first event of the log', async () => {
    const log = createSimulatedLog();
    const { notary } = start(createFolder(), log, { origin: null });
    await record(log, eventsOf(1));
    const { origin } = await signed(notary);
    expect(origin).toMatch(/^countersign\.invalid\/[0-9a-f]{16}\/acme\/1$/);
    const again = start(createFolder(), log, { origin: null });
    expect(await signed(again.notary)).toMatchObject({ origin });
  });

  it('begins an epoch with another origin, and tells the keys of both', async () => {
    const [log, folder] = [createSimulatedLog(), createFolder()];
    await record(log, eventsOf(3));
    const first = start(folder, log);
    await signed(first.notary);
    const keys = await first.notary.vkeys('acme');
    await first.stop();
    const { notary } = start(folder, log, { origin: 'other.example' });
    expect(await signed(notary)).toMatchObject({ origin: 'other.example/acme/2', size: 3 });
    expect((await notary.vkeys('acme')).slice(2)).toEqual(keys);
  });
});

describe('a log key that was changed', () => {
  const other = createSeedSigner(new Uint8Array(32).fill(8));

  async function changedKey() {
    const [log, folder] = [createSimulatedLog(), createFolder()];
    await record(log, eventsOf(3));
    const first = start(folder, log);
    await signed(first.notary);
    await first.stop();
    await record(log, eventsOf(2));
    return { log, folder, before: folder.checkpoints.ofTenant('acme') };
  }

  it('signs nothing, and says how to go on', async () => {
    const { log, folder, before } = await changedKey();
    const { notary } = start(folder, log, { signer: other });
    const refusal = { why: expect.stringMatching(/^log-key-changed: .*audit continue/) };
    expect(await notary.sign('acme')).toEqual({ status: 'unavailable', ...refusal });
    expect(notary.health()).toEqual({ status: 'failed', ...refusal });
    expect(notary.rewound('acme')).toMatchObject(refusal);
    expect(folder.checkpoints.ofTenant('acme')).toEqual(before);
  });

  it('signs as before when the old one is put back', async () => {
    const { log, folder } = await changedKey();
    const changed = start(folder, log, { signer: other });
    await changed.notary.sign('acme');
    await changed.stop();
    const { notary } = start(folder, log);
    expect(await signed(notary)).toMatchObject({ origin: 'countersign.example/acme/1', size: 5 });
  });

  it('signs the next epoch once a person goes on with it', async () => {
    const { log, folder } = await changedKey();
    const { notary, stop } = start(folder, log, { signer: other });
    await notary.sign('acme');
    expect((await notary.goOn('acme')).status).toBe('signed');
    expect(await signed(notary)).toMatchObject({ origin: 'countersign.example/acme/2', size: 5 });
    expect(notary.health()).toEqual({ status: 'ok' });
    await stop();
    await record(log, eventsOf(1));
    const later = start(folder, log, { signer: other });
    expect(await signed(later.notary)).toMatchObject({ origin: 'countersign.example/acme/2', size: 6 });
  });
});

describe('a log that contradicts what was signed', () => {
  /** A log of 20 events, with a signed checkpoint and the folder of its notary. */
  async function signedLog() {
    const [log, folder] = [createSimulatedLog(), createFolder()];
    await record(log, eventsOf(20));
    const { notary, stop } = start(folder, log);
    await signed(notary);
    const note = notary.newest('acme');
    await stop();
    return { log, folder, note };
  }
  const rewritten = (log: SimulatedLog): SimulatedLog => {
    const events = log.events.map((event, index) =>
      index === 4 ? { ...event, data: { ...event.data, reason: 'approved by alice' } } : event,
    );
    return { ...createSimulatedLog(), events };
  };
  const shortened = (log: SimulatedLog): SimulatedLog => ({ ...createSimulatedLog(), events: log.events.slice(0, 19) });
  const settled = async ({ notary, clock }: ReturnType<typeof start>): Promise<void> => {
    await notary.sign('acme');
    await pass(clock, 300);
  };

  it.each([
    { how: 'rewritten', change: rewritten, file: 'kept' },
    { how: 'rewritten', change: rewritten, file: 'deleted' },
    { how: 'cut', change: shortened, file: 'kept' },
    { how: 'cut', change: shortened, file: 'deleted' },
  ] as const)('is noticed when it was $how, with its tree $file', async ({ change, file }) => {
    const { log, folder, note } = await signedLog();
    const trees = file === 'kept' ? folder.trees : openTreeFile(':memory:');
    const world = start({ ...folder, trees }, change(log));
    await settled(world);
    expect(world.notary.health()).toEqual({ status: 'rewound', why: expect.stringMatching(/^log-rewound: /) });
    const before = folder.checkpoints.ofTenant('acme');
    expect((await world.notary.sign('acme')).status).toBe('rewound');
    expect(folder.checkpoints.ofTenant('acme')).toEqual(before);
    expect(before.map((one) => one.note)).toEqual([note]);
  });

  it('goes on as the next epoch once an operator accepts it', async () => {
    const { log, folder } = await signedLog();
    const cut = shortened(log);
    const { notary, stop } = start(folder, cut, { acceptsContradiction: true });
    expect(await signed(notary)).toMatchObject({ origin: 'countersign.example/acme/2', size: 19 });
    expect(await notary.vkeys('acme')).toHaveLength(4);
    await stop();
    const later = start(folder, cut);
    await settled(later);
    expect(later.notary.health()).toEqual({ status: 'ok' });
    expect(await signed(later.notary)).toMatchObject({ origin: 'countersign.example/acme/2', size: 19 });
  });

  it('records why in the log before it signs the next epoch, also where that log has no event any more', async () => {
    const { folder, note } = await signedLog();
    const cut = createSimulatedLog();
    await record(cut, eventsOf(1, 'other'));
    const told: object[] = [];
    const recordAccepted: NotaryPorts['recordAccepted'] = async (tenant, accepted) => {
      told.push({ tenant, ...accepted });
      const stream = `system-${tenant}-p1`;
      const isThere = cut.events.some((event) => event.stream === stream);
      if (!isThere) {
        const store = createSimulatedEventStore({ clock: createVirtualClock(), log: cut });
        await store.append(stream, -1, eventsOf(1, tenant));
      }
      return { stream, revision: 0 };
    };
    const { notary } = start(folder, cut, { acceptsContradiction: true, recordAccepted });
    await notary.begun();
    expect(told[0]).toEqual({ tenant: 'acme', checkpoint: note, why: expect.stringContaining('acme') });
    expect(await signed(notary)).toMatchObject({ origin: 'countersign.example/acme/2', size: 1 });
    await expect(notary.begun()).resolves.toBeUndefined();
  });

  it.each([
    { how: 'rewritten', change: rewritten },
    { how: 'cut', change: shortened },
  ])('goes on as the next epoch when that is asked of the notary, if it was $how', async ({ change }) => {
    const { log, folder, note } = await signedLog();
    const changed = change(log);
    const world = start(folder, changed);
    await settled(world);
    expect(world.notary.rewound('acme')).toEqual({ why: expect.any(String), checkpoint: note });
    const went = await world.notary.goOn('acme');
    if (went.status !== 'signed') throw new Error(JSON.stringify(went));
    const size = changed.events.length;
    expect(await read(world.notary, went.note)).toMatchObject({ origin: 'countersign.example/acme/2', size });
    expect(world.notary.health()).toEqual({ status: 'ok' });
    expect(world.notary.rewound('acme')).toBeUndefined();
    await world.stop();
    // What was accepted is this log, and no other one.
    const later = start(folder, { ...createSimulatedLog(), events: changed.events.slice(0, 10) });
    await settled(later);
    expect(later.notary.health()).toMatchObject({ status: 'rewound' });
  });

  it('goes on for each tenant apart', async () => {
    const [log, folder] = [createSimulatedLog(), createFolder()];
    await record(log, [...eventsOf(5, 'acme'), ...eventsOf(5, 'globex')]);
    const first = start(folder, log);
    await Promise.all([signed(first.notary), signed(first.notary, 'globex')]);
    await first.stop();
    const events = log.events.filter((_event, index) => index !== 4 && index !== 9);
    const world = start(folder, { ...createSimulatedLog(), events });
    await settled(world);
    expect((await world.notary.goOn('globex')).status).toBe('rewound');
    await expect(world.notary.vkeys('acme')).resolves.toHaveLength(2);
    const went = await world.notary.goOn('acme');
    expect(went.status).toBe('signed');
    expect(await signed(world.notary, 'globex')).toMatchObject({ origin: 'countersign.example/globex/2', size: 4 });
  });

  it('that only a witness contradicts goes on as the next epoch, and the finding for another tenant stays', async () => {
    const [log, folder] = [createSimulatedLog(), createFolder()];
    await record(log, [...eventsOf(5, 'acme'), ...eventsOf(5, 'globex')]);
    const world = start(folder, log);
    await signed(world.notary);
    for (const tenant of ['acme', 'globex']) world.notary.witnessed.rewind({ tenant, why: `${tenant} is forked` });
    expect(world.notary.rewound('other')).toBeUndefined();
    expect((await world.notary.goOn('acme')).status).toBe('rewound');
    expect([world.notary.rewound('acme'), world.notary.rewound('globex')?.why]).toEqual([
      undefined,
      'globex is forked',
    ]);
    const { note } = (await world.notary.goOn('globex')) as { readonly note: string };
    expect(await read(world.notary, note, 'globex')).toMatchObject({ origin: 'countersign.example/globex/2', size: 5 });
    expect(await signed(world.notary)).toMatchObject({ origin: 'countersign.example/acme/2', size: 5 });
  });

  it('goes on later when it cannot be read at the moment', async () => {
    const { log, folder } = await signedLog();
    const clock = createVirtualClock();
    const store = createSimulatedEventStore({ clock, log: shortened(log) });
    let isAway = false;
    const head = (): Promise<number> => (isAway ? Promise.reject(new Error('away')) : store.head());
    const world = start(folder, log, { clock, store: { ...store, head } });
    await settled({ ...world, clock });
    isAway = true;
    expect((await world.notary.goOn('acme')).status).toBe('unavailable');
    isAway = false;
    expect(await signed(world.notary)).toMatchObject({ origin: 'countersign.example/acme/2', size: 19 });
  });

  it('goes on as it was when nothing contradicts', async () => {
    const { log, folder } = await signedLog();
    const world = start(folder, log);
    await settled(world);
    await world.notary.goOn('acme');
    expect(await signed(world.notary)).toMatchObject({ origin: 'countersign.example/acme/1', size: 20 });
  });

  it('is noticed when nothing is left of it', async () => {
    const { folder } = await signedLog();
    const world = start(folder, createSimulatedLog(), { origin: null });
    await settled(world);
    expect(world.notary.health()).toMatchObject({ status: 'rewound' });
  });
});

describe('the tiles of a log', () => {
  it('have the hashes, the entries and the proofs of what is signed, and nothing later', async () => {
    const [log, folder] = [createSimulatedLog(), createFolder()];
    const mine = eventsOf(600);
    await record(log, [...mine.slice(0, 10), ...eventsOf(2, 'zeta'), ...mine.slice(10)]);
    const { notary, stop } = start(folder, log);
    const { root } = await signed(notary);
    expect(notary.tenants()).toEqual(['acme', 'zeta']);
    const events = log.events.filter(({ metadata }) => metadata.tenant === 'acme');
    const tileOf = (index: number) => events.slice(index * 256, (index + 1) * 256).map((event) => entryOf(event));
    const check = async (one: Notary): Promise<void> => {
      for (const index of [0, 1, 2]) {
        expect(await one.entryTile('acme', index)).toEqual(tileOf(index));
        const hashes = Buffer.concat(tileOf(index).map((entry) => leafHash(entry)));
        expect(hashes.equals(await one.hashTile('acme', 0, index))).toBe(true);
      }
      expect((await one.hashTile('acme', 1, 0)).length).toBe(64);
      expect([(await one.hashTile('acme', 0, 3)).length, await one.entryTile('acme', 3)]).toEqual([0, []]);
      expect([(await one.hashTile('acme', 2, 0)).length, (await one.hashTile('nobody', 0, 0)).length]).toEqual([0, 0]);
      for (const index of [0, 9, 10, 255, 256, 599]) {
        const event = events[index]!;
        const [proven, ...more] = await one.prove('acme', event.stream, one.newest('acme')!);
        const { path } = parseTlogProof(proven!.proof)!;
        expect([proven!.index, more, proven!.entry]).toEqual([index, [], entryOf(event)]);
        expect(verifyInclusion({ index, size: 600, leaf: leafHash(proven!.entry), root, proof: path })).toBe(true);
      }
      const other = log.events.find(({ metadata }) => metadata.tenant === 'zeta')!;
      expect(await one.prove('acme', other.stream, one.newest('acme')!)).toEqual([]);
    };
    await check(notary);
    await stop();
    const again = start(folder, log);
    await signed(again.notary);
    await check(again.notary);
    await pass(again.clock, 500);
    await record(log, eventsOf(3));
    await pass(again.clock, 500);
    expect((await again.notary.entryTile('acme', 2)).length).toBe(88);
    expect((await again.notary.hashTile('acme', 0, 2)).length).toBe(88 * 32);
  });
});
