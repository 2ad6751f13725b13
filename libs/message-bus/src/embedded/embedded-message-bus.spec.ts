import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { systemClock } from '@countersign/runtime';
import { createCollectingLog, createSilentLog, createVirtualClock } from '@countersign/runtime/testing';
import { messageBusContract } from '../message-bus.contract.js';
import type { Message, MessageBus } from '../message-bus.js';
import { eventually } from '../testing/eventually.js';
import { createMemoryLog } from '../testing/memory-log.js';
import { createEmbeddedMessageBus } from './embedded-message-bus.js';
import type { LogReader } from './log-reader.js';

const topic = 'countersign.events.v1';

messageBusContract('embedded', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'bus-'));
  const recorded = createMemoryLog();
  const left: MessageBus[] = [];
  const open = (): { bus: MessageBus; kill: () => void } => {
    let alive = true;
    // A killed process reads no more, and its timers are gone.
    const source: LogReader = {
      readAll: recorded.readAll,
      subscribe: (after, handler) =>
        recorded.subscribe(after, { ...handler, onEvents: (events) => (alive ? handler.onEvents(events) : undefined) }),
    };
    const system = systemClock;
    const clock = {
      ...system,
      setTimer: (delayMs: number, fn: () => void) =>
        system.setTimer(delayMs, () => {
          if (alive) fn();
        }),
    };
    const bus = createEmbeddedMessageBus({ folder, topics: { [topic]: source }, clock, log: createSilentLog() });
    return { bus, kill: () => void (alive = false) };
  };
  let current = open();
  return {
    topic,
    bus: () => current.bus,
    publish: async (messages) => {
      recorded.append(...messages.map(({ id, key, type = 'ToolCallAllowed' }) => ({ id, type, runId: key })));
    },
    restart: async () => {
      await current.bus.close();
      current = open();
    },
    crash: async () => {
      current.kill();
      left.push(current.bus);
      current = open();
    },
    close: async () => {
      await current.bus.close();
      await rm(folder, { recursive: true });
    },
  };
});

describe('the embedded message bus', () => {
  const ids: string[] = [];
  const onMessage = (message: Message): void => void ids.push(message.headers['ce_id'] ?? '');
  let folder: string;
  beforeEach(async () => {
    ids.length = 0;
    folder = await mkdtemp(join(tmpdir(), 'bus-'));
  });
  afterEach(async () => {
    await rm(folder, { recursive: true });
  });
  const allowed = (id: string, runId = 'run-1') => ({ id, type: 'ToolCallAllowed' as const, runId });
  const openBus = (source: LogReader, clock = systemClock, log = createCollectingLog()) => ({
    log,
    bus: createEmbeddedMessageBus({ folder, topics: { [topic]: source }, clock, log }),
  });

  it('costs nothing without a subscriber: no reading, no timer, no file', async () => {
    const clock = createVirtualClock();
    const source = createMemoryLog();
    const { bus } = openBus(source, clock);
    source.append(allowed('1'));
    await clock.advanceAsync(10_000);
    expect([source.subscriptions(), clock.nextInMs(), existsSync(join(folder, 'bus.db'))]).toEqual([
      0,
      undefined,
      false,
    ]);
    await bus.close();
  });

  it('sets no timer while nothing is recorded', async () => {
    const clock = createVirtualClock();
    const { bus } = openBus(createMemoryLog(), clock);
    bus.subscribe({ group: 'g', topics: [topic], onMessage });
    await clock.advanceAsync(10_000);
    expect(clock.nextInMs()).toBeUndefined();
    await bus.close();
  });

  it('refuses an unknown topic, and a group that it already serves', async () => {
    const { bus } = openBus(createMemoryLog());
    expect(() => bus.subscribe({ group: 'g', topics: ['nothing'], onMessage })).toThrow('topic "nothing" is unknown');
    const first = bus.subscribe({ group: 'g', topics: [topic], onMessage });
    expect(() => bus.subscribe({ group: 'g', topics: [topic], onMessage })).toThrow('already subscribed');
    await first.stop();
    bus.subscribe({ group: 'g', topics: [topic], onMessage });
    await bus.close();
  });

  it('counts an event that does not concern its group as handled', async () => {
    const source = createMemoryLog();
    const concerns = ({ eventId }: { readonly eventId: string }) => eventId !== '2';
    source.append(...['1', '2', '3', '2'].map((id) => allowed(id)));
    const { bus } = openBus(source);
    bus.subscribe({ group: 'g', topics: [topic], concerns, onMessage });
    await eventually(() => expect(ids).toEqual(['1', '3']));
    await bus.close();
    const again = openBus(source).bus;
    again.subscribe({ group: 'g', topics: [topic], onMessage });
    source.append(allowed('5'));
    await eventually(() => expect(ids).toEqual(['1', '3', '5']));
    await again.close();
  });

  it('goes on by itself when the log could not be read for a while, without a repeat', async () => {
    const clock = createVirtualClock();
    const source = createMemoryLog();
    const { bus } = openBus(source, clock);
    source.append(allowed('1'));
    const subscription = bus.subscribe({ group: 'g', topics: [topic], onMessage });
    await eventually(() => expect(ids).toEqual(['1']));
    source.fail(new Error('disk gone'));
    await clock.advanceAsync(3_500);
    expect(subscription.status()).toEqual({ state: 'interrupted', why: 'Error: disk gone', inFlight: 0 });
    source.heal();
    source.append(allowed('2'));
    await clock.advanceAsync(1_000);
    await eventually(() => expect(ids).toEqual(['1', '2']));
    expect(subscription.status()).toEqual({ state: 'running', inFlight: 0 });
    await bus.close();
  });

  it('starts when the log cannot be read at first', async () => {
    const clock = createVirtualClock();
    const source = createMemoryLog();
    const before = openBus(source).bus;
    source.append(allowed('1'));
    before.subscribe({ group: 'g', topics: [topic], onMessage });
    await eventually(() => expect(ids).toEqual(['1']));
    await before.close();
    source.fail(new Error('not yet'));
    const { bus } = openBus(source, clock);
    const subscription = bus.subscribe({ group: 'g', topics: [topic], onMessage });
    await clock.advanceAsync(1_500);
    expect(subscription.status().state).toBe('interrupted');
    source.heal();
    source.append(allowed('2'));
    await clock.advanceAsync(1_000);
    await eventually(() => expect(ids).toEqual(['1', '2']));
    await bus.close();
  });

  it.each([
    ['shorter than the progress', ['9']],
    ['another one', ['7', '8', '9']],
  ])('misses nothing when the log was put back from a backup and is %s', async (_, recordedAfterwards) => {
    const source = createMemoryLog();
    const before = openBus(source).bus;
    source.append(allowed('1'), allowed('2'), allowed('3'));
    before.subscribe({ group: 'g', topics: [topic], onMessage });
    await eventually(() => expect(ids).toEqual(['1', '2', '3']));
    await before.close();
    ids.length = 0;
    source.truncate(1);
    source.append(...recordedAfterwards.map((id) => allowed(id)));
    const { bus, log } = openBus(source);
    bus.subscribe({ group: 'g', topics: [topic], onMessage });
    await eventually(() => expect(ids).toEqual(['1', ...recordedAfterwards]));
    expect(log.entries).toContainEqual(
      expect.objectContaining({ level: 'error', fields: { group: 'g', position: 3 } }),
    );
    await bus.close();
  });

  it('goes on with the progress and the dead letters of a file of the first version', async () => {
    const old = new DatabaseSync(join(folder, 'bus.db'));
    old.exec(`
      CREATE TABLE checkpoints (consumer_group TEXT NOT NULL, topic TEXT NOT NULL, position INTEGER NOT NULL,
        event_id TEXT NOT NULL, PRIMARY KEY (consumer_group, topic)) STRICT, WITHOUT ROWID;
      CREATE TABLE dead_letters (id INTEGER PRIMARY KEY AUTOINCREMENT,
        state TEXT NOT NULL CHECK (state IN ('parked', 'replaying')), consumer_group TEXT NOT NULL, topic TEXT NOT NULL,
        partition INTEGER NOT NULL, message_offset TEXT NOT NULL, message_key TEXT, value BLOB NOT NULL,
        headers TEXT NOT NULL, code TEXT NOT NULL, detail TEXT NOT NULL, attempts INTEGER NOT NULL,
        parked_at TEXT NOT NULL, UNIQUE (consumer_group, topic, partition, message_offset)) STRICT;
      INSERT INTO checkpoints VALUES ('g', '${topic}', 2, '2');
      INSERT INTO dead_letters VALUES (1, 'parked', 'g', '${topic}', 0, '1', 'run-1', x'7b7d', '{}', 'malformed', 'no', 1,
        '2030-01-01T00:00:00.000Z');
      PRAGMA user_version = 1;`);
    old.close();
    const source = createMemoryLog();
    source.append(allowed('1'), allowed('2'), allowed('3'));
    const { bus } = openBus(source);
    bus.subscribe({ group: 'g', topics: [topic], onMessage });
    await eventually(() => expect(ids).toEqual(['3']));
    expect(await bus.deadLetters.list()).toMatchObject([{ id: '1', code: 'malformed', attempts: 1 }]);
    await bus.close();
  });

  it('shows values masked, as the events topic does', async () => {
    const source = createMemoryLog();
    const { bus } = openBus(source);
    const values: string[] = [];
    source.append({ ...allowed('1'), type: 'ExecutionSucceeded', data: { output: { password: 'hunter2' } } });
    bus.subscribe({
      group: 'g',
      topics: [topic],
      onMessage: ({ value }) => void values.push(Buffer.from(value).toString()),
    });
    await eventually(() => expect(values).toHaveLength(1));
    expect(values[0]).toContain('[masked]');
    expect(values[0]).not.toContain('hunter2');
    await bus.close();
  });
});
