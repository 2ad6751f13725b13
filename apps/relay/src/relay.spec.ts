import { QuestionRefusedError } from '@countersign/contracts';
import type { NewEvent } from '@countersign/contracts';
import { noStream } from '@countersign/event-store';
import type { EventStore, SubscriptionHandler } from '@countersign/event-store';
import { createSimulatedEventStore, createSimulatedLog, sampleEvent } from '@countersign/event-store/testing';
import { MessageTooLargeError } from '@countersign/message-bus';
import type { OutgoingMessage } from '@countersign/message-bus';
import { createMemoryExclusiveProgress, eventually } from '@countersign/message-bus/testing';
import type { ExclusiveProgress } from '@countersign/message-bus';
import { createCollectingLog, createRandom, createSeededIds, createVirtualClock } from '@countersign/runtime/testing';
import { createRelayMetrics } from './metrics.js';
import { createRelay } from './relay.js';
import type { RelayOptions } from './relay-options.js';
import type { Relay } from './relay.js';

const topic = 'countersign.events.v1';
const ids = createSeededIds(createRandom(7));

/** A topic in memory that a test can hold, break, or break halfway. */
function createTopic() {
  const messages: OutgoingMessage[] = [];
  const batches: number[] = [];
  let failing: ((given: readonly OutgoingMessage[]) => number | undefined) | undefined;
  let gate: Promise<void> | undefined;
  let open: () => void = () => undefined;
  return {
    messages,
    batches,
    idsOf: () => messages.map(({ headers }) => headers['ce_id']),
    /** Returns how many are published before the failure; undefined: no failure. */
    failWhen: (rule: typeof failing) => void (failing = rule),
    hold: () => void (gate = new Promise((resolve) => (open = resolve))),
    release: () => {
      gate = undefined;
      open();
    },
    publisher: {
      publish: async (to: string, given: readonly OutgoingMessage[]): Promise<void> => {
        expect(to).toBe(topic);
        await gate;
        const taken = failing?.(given);
        batches.push(given.length);
        messages.push(...given.slice(0, taken ?? given.length));
        if (taken !== undefined) throw new Error('broker down');
      },
    },
  };
}

/** The first copies, in the order of arrival. */
function firstCopies(all: readonly (string | undefined)[]): string[] {
  return [...new Set(all.map(String))];
}

describe('the relay', () => {
  let clock: ReturnType<typeof createVirtualClock>;
  let recorded: ReturnType<typeof createSimulatedLog>;
  let store: EventStore;
  let to: ReturnType<typeof createTopic>;
  let shared: ReturnType<typeof createMemoryExclusiveProgress>;
  let log: ReturnType<typeof createCollectingLog>;
  const relays: Relay[] = [];
  beforeEach(() => {
    clock = createVirtualClock();
    recorded = createSimulatedLog();
    store = createSimulatedEventStore({ clock, log: recorded });
    to = createTopic();
    shared = createMemoryExclusiveProgress();
    log = createCollectingLog();
  });
  afterEach(async () => {
    to.release();
    to.failWhen(undefined);
    for (const relay of relays.splice(0)) {
      const stopped = relay.stop();
      await settle(20);
      await stopped;
    }
  });
  const settle = async (turns = 10): Promise<void> => {
    for (let turn = 0; turn < turns; turn += 1) await clock.advanceAsync(0);
  };
  const start = (turns: ExclusiveProgress = shared.open(), options: Partial<RelayOptions> = {}): Relay => {
    const relay = createRelay({ store, publisher: to.publisher, turns, topic, clock, log, ...options });
    relays.push(relay);
    relay.start();
    return relay;
  };
  const append = async (stream: string, ...events: readonly NewEvent[]): Promise<void> => {
    const before = recorded.streams.get(stream)?.length ?? 0;
    expect((await store.append(stream, noStream + before, events)).status).toBe('committed');
  };
  const record = async (count: number, from = 0): Promise<string[]> => {
    const made = Array.from({ length: count }, (_, n) => {
      const event = sampleEvent('x', ids.uuid());
      return { ...event, metadata: { ...event.metadata, runId: `run-${String((from + n) % 7)}` } };
    });
    for (const [n, event] of made.entries()) await append(`toolCall-${String((from + n) % 7)}`, event);
    return made.map(({ eventId }) => eventId);
  };
  const allIds = (): string[] => recorded.events.map(({ eventId }) => eventId);

  it('publishes what is recorded and what comes, in the order of the log, masked and keyed by its run', async () => {
    await record(2500);
    start();
    await settle(60);
    expect(to.idsOf()).toEqual(allIds());
    await record(3);
    await settle();
    expect(to.idsOf()).toEqual(allIds());
    expect(to.messages[0]).toMatchObject({ key: 'run-0', headers: { ce_sequence: '1', ce_type: 'ToolCallCancelled' } });
    expect(Math.max(...to.batches)).toBeLessThanOrEqual(1000);
  });

  it('stores its progress outside of the loop, and continues there', async () => {
    await record(10);
    const relay = start();
    await settle();
    expect(shared.kept()).toBeNull();
    await clock.advanceAsync(200);
    await settle();
    expect(JSON.parse(shared.kept() ?? '{}')).toMatchObject({ position: 10, previous: 9 });
    await record(2);
    await settle();
    const stopped = relay.stop();
    await settle();
    await stopped;
    expect(JSON.parse(shared.kept() ?? '{}')).toMatchObject({ position: 12 });
    start();
    await record(1);
    await settle();
    expect(to.idsOf()).toEqual(allIds());
  });

  it('repeats in order what was published and not kept, after a crash in between', async () => {
    await record(5);
    const killed = shared.open();
    start(killed);
    await settle();
    await clock.advanceAsync(200);
    await record(5);
    await settle();
    // The process crashes: another one takes the leadership, and nothing more is stored.
    shared.freeze(killed);
    start();
    await settle();
    expect(to.idsOf()).toEqual([...allIds(), ...allIds().slice(5)]);
    shared.thaw(killed);
  });

  it('stops at once when another has taken over, and stands by', async () => {
    const metrics = createRelayMetrics();
    const [one, other] = [shared.open(), shared.open()];
    const first = start(one, { metrics });
    await settle();
    const second = start(other);
    await settle();
    expect([first.status().state, second.status().state]).toEqual(['active', 'standby']);
    expect(second.health()).toEqual({ status: 'ok', role: 'standby' });
    shared.depose();
    await settle();
    expect([first.status().state, second.status().state]).toEqual(['standby', 'active']);
    await record(3);
    await settle();
    expect(to.idsOf()).toEqual(allIds());
    expect(await metrics.registry.metrics()).toContain('countersign_relay_fenced_total 1');
  });

  it('is fenced at its checkpoint as a zombie: late copies are repeats, and the progress never goes back', async () => {
    const zombie = shared.open();
    const first = start(zombie);
    await record(3);
    await settle();
    shared.freeze(zombie);
    const second = start();
    await record(4);
    await settle();
    await clock.advanceAsync(200);
    await settle();
    shared.thaw(zombie);
    await clock.advanceAsync(200);
    await settle();
    expect([first.status().state, second.status().state]).toEqual(['standby', 'active']);
    await record(2);
    await clock.advanceAsync(200);
    await settle();
    const positions = shared.history.map((each) => (JSON.parse(each) as { position: number }).position);
    expect(positions).toEqual([...positions].sort((a, b) => a - b));
    expect(firstCopies(to.idsOf())).toEqual(allIds());
  });

  it('a standby takes over at once when the active one stops', async () => {
    const first = start();
    await settle();
    const second = start();
    await record(3);
    await settle();
    const stopped = first.stop();
    await settle();
    await stopped;
    await record(3);
    await settle();
    expect(second.status()).toMatchObject({ state: 'active', position: 6 });
    expect(to.idsOf()).toEqual(allIds());
  });

  it('waits for a broker that is down, skips nothing, and says why', async () => {
    let failures = 0;
    to.failWhen((given) => (failures++ < 8 ? Math.floor(given.length / 2) : undefined));
    const relay = start();
    await record(20);
    await clock.advanceAsync(1_000);
    await settle();
    expect(relay.status()).toMatchObject({ state: 'active', why: 'broker down', waiting: 20 });
    expect(relay.status().lagMs).toBeGreaterThanOrEqual(1_000);
    expect(relay.health()).toEqual({ status: 'failed', why: 'broker down' });
    await clock.advanceAsync(60_000);
    await settle();
    expect(firstCopies(to.idsOf())).toEqual(allIds());
    expect(relay.health()).toEqual({ status: 'ok', role: 'active' });
  });

  it('goes on by itself when the log cannot be read for a while', async () => {
    let down = true;
    const subscribe = store.subscribe;
    const flaky = {
      readAll: store.readAll,
      subscribe: (after: number, handler: SubscriptionHandler) => {
        if (down) queueMicrotask(() => handler.onError(new Error('log gone')));
        return down ? { stop: async () => undefined } : subscribe(after, handler);
      },
    };
    const relay = start(shared.open(), { store: flaky });
    await record(3);
    await clock.advanceAsync(2_500);
    expect(relay.health()).toEqual({ status: 'failed', why: 'log gone' });
    down = false;
    await clock.advanceAsync(1_000);
    await settle();
    expect(to.idsOf()).toEqual(allIds());
    expect(relay.health().status).toBe('ok');
  });

  it('reads no more than it can hold while nothing can be published', async () => {
    await record(500);
    to.hold();
    const relay = start(undefined, { batchMax: 10 });
    await settle(60);
    expect(relay.status().waiting).toBe(40);
    to.release();
    await settle(200);
    expect(to.idsOf()).toEqual(allIds());
  });

  it('misses nothing when the log was put back from a backup', async () => {
    await record(5);
    const relay = start();
    await settle();
    const stopped = relay.stop();
    await settle();
    await stopped;
    recorded.events.length = 0;
    recorded.streams.clear();
    to.messages.length = 0;
    await record(6);
    start();
    await settle();
    expect(to.idsOf()).toEqual(allIds());
    expect(log.entries.some(({ message }) => message.includes('differs from the one that was published'))).toBe(true);
  });

  it('starts at the beginning of a log that has no event at the published position', async () => {
    await record(5);
    const relay = start();
    await settle();
    const stopped = relay.stop();
    await settle();
    await stopped;
    to.messages.length = 0;
    const other: EventStore = {
      ...store,
      readAll: async (after, limit) => {
        if (after !== 0) throw new QuestionRefusedError('no event is there');
        return store.readAll(after, limit);
      },
    };
    start(undefined, { store: other });
    await settle();
    expect(to.idsOf()).toEqual(allIds());
  });

  it('publishes nothing that is not an event of the ledger, and one that it cannot read without its data', async () => {
    await append('$stats-0', { ...sampleEvent(), metadata: null as never });
    await append('orders-7', { ...sampleEvent(), metadata: { tenant: 'shop' } as never });
    await record(1);
    const relay = start();
    await settle();
    expect(to.idsOf()).toEqual([allIds()[2]]);
    const { data: _data, ...envelope } = sampleEvent();
    await append('toolCall-9', { ...envelope, type: 'FromTheFuture', unreadable: 'its type is unknown' } as never);
    await record(1);
    await settle();
    expect(to.idsOf()).toEqual(allIds().slice(2));
    const { headers, value } = to.messages[1] ?? {};
    expect(headers).toMatchObject({ ce_id: envelope.eventId, 'x-unreadable': 'its type is unknown' });
    expect(JSON.parse(String(value))).toMatchObject({
      type: 'FromTheFuture',
      data: null,
      unreadable: 'its type is unknown',
    });
    expect(relay.health()).toMatchObject({ status: 'ok' });
  });

  it('lets an event that is too large for the topic keep nothing back', async () => {
    const metrics = createRelayMetrics();
    const publisher = {
      publish: async (name: string, given: readonly OutgoingMessage[]): Promise<void> => {
        const bytes = given.reduce((sum, { value }) => sum + Buffer.from(value).byteLength, 0);
        if (bytes > 4_000) throw new MessageTooLargeError('cannot publish');
        await to.publisher.publish(name, given);
      },
    };
    start(undefined, { metrics, publisher });
    const [large] = [sampleEvent('y'.repeat(100_000))];
    await record(10);
    await append('toolCall-large', large);
    await record(10, 10);
    await settle(60);
    expect(to.idsOf()).toEqual(allIds());
    const copy = to.messages.find(({ headers }) => headers['ce_id'] === large.eventId);
    expect(copy?.headers['countersign-shortened']).toBe('large');
    expect(JSON.parse(Buffer.from(copy?.value ?? '').toString())).toMatchObject({
      type: 'ToolCallCancelled',
      data: { approvalId: null, reason: { omitted: 'too large', bytes: 100_002 }, cancelledBy: 'tester' },
    });
    expect(await metrics.registry.metrics()).toContain('countersign_relay_shortened_events_total 1');
  });

  it('shows its figures', async () => {
    const metrics = createRelayMetrics();
    const relay = start(undefined, { metrics });
    metrics.observe(relay, store.head);
    await record(3);
    await settle();
    const text = await metrics.registry.metrics();
    for (const line of [
      'relay_active 1',
      'relay_published_events_total 3',
      'relay_position 3',
      'relay_head_position 3',
    ]) {
      expect(text).toContain(`countersign_${line}`);
    }
    await eventually(() => expect(relay.status().waiting).toBe(0));
  });
});
