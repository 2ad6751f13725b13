import type { JsonObject, RecordedEvent } from '@countersign/contracts';
import { createOwnStoreClock, EventStoreUnavailableError } from '@countersign/event-store';
import type { AppendResult, EventStore, StoreClock, Subscription, SubscriptionHandler } from '@countersign/event-store';
import { createMeasuredClock, createSimulatedEventStore, readable, watchTime } from '@countersign/event-store/testing';
import type { AppendFault } from '@countersign/event-store/testing';
import type { Machine } from './machine.ts';
import type { World } from './world.ts';

/** How long a client waits for a missing response. */
const patienceMs = 2_000;

/** The servers of the event store: outages affect all clients together. */
export interface StoreServers {
  readonly isDown: () => boolean;
  readonly goDown: (forMs: number) => void;
}

/** Servers that are up. */
export function createStoreServers(world: World): StoreServers {
  let downUntil = -1;
  return {
    isDown: () => !world.isHealed() && world.clock.monotonic() < downUntil,
    goDown: (forMs) => {
      downUntil = world.clock.monotonic() + forMs;
      world.trace.add('event store', `down for ${forMs} ms`);
    },
  };
}

/** The event store as one process reaches it: the simulated store behind a network. */
export function createStoreClient(world: World, servers: StoreServers, machine: Machine): EventStore {
  const store = createSimulatedEventStore({
    clock: world.clock,
    log: world.log,
    fault: () => drawFault(world, servers),
    latencyMs: world.travelMs,
  });
  machine.onDeath(() => void store.close());
  const time = createMeasuredClock(machine.clock);
  followTime(world, servers, machine, time);

  const append = async (...given: Parameters<EventStore['append']>): Promise<AppendResult> => {
    if (world.random.chance(world.hazards().appendLate)) {
      world.trace.add(machine.name, `append to ${given[0].slice(0, 16)} is late`);
      // Its sender times out and retries, and the first one arrives after all.
      void writeLate(world, store, given);
      await world.wait(patienceMs / 4);
      return { status: 'unknown', cause: new Error('no answer in time') };
    }
    const sentAt = machine.clock.monotonic();
    const result = await store.append(...given);
    const [event] = result.status === 'committed' ? result.events : [];
    if (event !== undefined)
      time.recorded(Date.parse(event.recordedAt), { sentAt, answeredAt: machine.clock.monotonic() });
    if (result.status === 'unknown') await world.wait(patienceMs * world.random.next());
    else await world.travel();
    return result;
  };
  const read = async <T>(work: () => Promise<T>): Promise<T> => {
    if (servers.isDown() || world.random.chance(world.hazards().readUnavailable)) {
      await world.travel();
      throw new EventStoreUnavailableError('the event store is down');
    }
    const found = await work();
    await world.travel();
    return found;
  };
  return {
    append: (...given) => machine.call(() => append(...given)),
    readStream: (stream, from) =>
      machine.call(() => read(async () => tamper(world, machine, readable(await store.readStream(stream, from))))),
    readAll: (after, limit) => machine.call(() => read(() => store.readAll(after, limit))),
    head: () => machine.call(() => read(() => store.head())),
    subscribe: (after, handler) => subscribe(world, store, machine, after, handler),
    health: store.health,
    clock: weakClock(world, machine, time),
    close: store.close,
  };
}

/** Asks the servers for their time, which they tell in whole seconds, and up to a second late. */
function followTime(
  world: World,
  servers: StoreServers,
  machine: Machine,
  time: ReturnType<typeof createMeasuredClock>,
): void {
  const closing = new AbortController();
  machine.onDeath(() => {
    closing.abort();
  });
  watchTime({
    ...{ time, clock: machine.clock, log: machine.log, closing: closing.signal },
    server: () => Promise.resolve('the event store'),
    ask: async () => {
      const sentAt = machine.clock.monotonic();
      await world.travel();
      const renewedMs = world.clock.now() - world.random.below(1000);
      await world.travel();
      await machine.enter();
      if (servers.isDown()) return undefined;
      const earliest = Math.floor(renewedMs / 1000) * 1000;
      return {
        time: { earliest, latest: earliest + 2000 },
        asked: { sentAt, answeredAt: machine.clock.monotonic() },
      };
    },
  });
}

/** The clock of the store without a defence. */
function weakClock({ without }: World, { clock }: Machine, time: StoreClock): StoreClock {
  switch (without) {
    case 'store-time':
      return createOwnStoreClock(clock);
    case 'known-time':
      return { ...time, doubt: () => undefined };
    case 'clock-gate':
      return { ...time, problem: () => undefined };
    default:
      return time;
  }
}

function drawFault(world: World, servers: StoreServers): AppendFault {
  const { appendUnavailable, appendLostRequest, appendLostReply } = world.hazards();
  if (servers.isDown() || world.random.chance(appendUnavailable)) return 'unavailable';
  if (world.random.chance(appendLostRequest)) return 'lost-request';
  return world.random.chance(appendLostReply) ? 'lost-reply' : 'none';
}

async function writeLate(world: World, store: EventStore, given: Parameters<EventStore['append']>): Promise<void> {
  await world.wait(world.random.below(5_000));
  await store.append(...given).catch(() => undefined);
}

/**
 * Attack: an intruder who can change the store's responses exchanges the arguments between the approval and the run.
 * Calls that need no approval are not changed: an intruder there could have requested the call himself.
 */
function tamper(world: World, machine: Machine, events: readonly RecordedEvent[]): readonly RecordedEvent[] {
  const isBetween =
    events.some(({ type }) => type === 'ApprovalResponded') && !events.some(({ type }) => type === 'ExecutionClaimed');
  if (!isBetween) return events;
  if (!world.random.chance(world.hazards().tampered)) return events;
  world.trace.add(machine.name, `reads tampered arguments in ${events[0]?.stream.slice(0, 16) ?? ''}`);
  // The intruder is detected. The data that was read so far is only in memory, and is discarded, and what the process
  // acknowledged since then is delivered again.
  machine.deceive();
  world.clock.setTimer(world.random.below(5_000), () => {
    machine.kill('an intruder is thrown out');
  });
  return events.map((event) => {
    const data = event.data as JsonObject;
    return event.type === 'ToolCallRequested'
      ? ({
          ...event,
          data: { ...data, arguments: { ...(data['arguments'] as JsonObject), tampered: true } },
        } as unknown as RecordedEvent)
      : event;
  });
}

/** A subscription over a network: a batch arrives later, or the connection breaks instead. */
function subscribe(
  world: World,
  store: EventStore,
  machine: Machine,
  after: number,
  handler: SubscriptionHandler,
): Subscription {
  let isOver = false;
  const end = (error: unknown): void => {
    if (isOver) return;
    isOver = true;
    void inner.stop();
    handler.onError(error);
  };
  const inner = store.subscribe(after, {
    onEvents: async (events) => {
      await world.travel();
      await machine.enter();
      if (isOver) return;
      if (world.random.chance(world.hazards().subscriptionDropped)) {
        queueMicrotask(() => {
          end(new Error('the connection was lost'));
        });
        return;
      }
      try {
        await handler.onEvents(events);
      } catch (error) {
        queueMicrotask(() => {
          end(error);
        });
      }
    },
    onCaughtUp: () => {
      if (machine.isAlive() && !isOver) handler.onCaughtUp?.();
    },
    onError: (error) => {
      if (machine.isAlive()) end(error);
    },
  });
  return {
    stop: async () => {
      isOver = true;
      await inner.stop();
    },
  };
}
