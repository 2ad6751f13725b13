import type {
  DeadLetters,
  Message,
  MessageBus,
  MessagePublisher,
  SubscribeOptions,
  Subscription,
} from '@countersign/message-bus';
import { createWatermark, Dispatcher, inFlightMaxDefault, Probation, Turns } from '@countersign/message-bus/testing';
import type { Watermark } from '@countersign/message-bus/testing';
import type { Clock, Log } from '@countersign/runtime';
import type { Assigned, Broker, Member, Parked } from './broker.ts';

/** The process that a bus runs in, and the network between it and the broker. */
export interface BusHost {
  readonly clock: Clock;
  readonly log: Log;
  readonly isAlive: () => boolean;
  /** Its acknowledgements do not count any more. */
  readonly isDeceived?: () => boolean;
  /** Settles while the process runs, never once it is dead. */
  readonly enter: () => Promise<void>;
  readonly onDeath: (fn: () => void) => void;
  /** The duration of a fetch. */
  readonly travel: () => Promise<void>;
}

const commitEveryMs = 200;

/** Checked after each wait, because the partition may have moved. */
const isOver = (lease: Lease): boolean => lease.isOver;

/**
 * The message bus of one process over a simulated broker, with the behaviour of the product's adapters and the
 * product's own dispatcher. Offsets are committed in the background, and at a stop.
 */
export function createSimulatedMessageBus(broker: Broker, host: BusHost): MessageBus {
  const served = new Map<string, Subscription>();
  const own = { life: `life-${(lives += 1)}`, trials: new Turns() };
  return {
    system: 'kafka',
    subscribe: (options) => {
      const { group } = options;
      if (served.has(group)) throw new Error(`group "${group}" is already subscribed`);
      const subscription = createGroupMember(broker, host, { ...options, ...own }, () => served.delete(group));
      served.set(group, subscription);
      return subscription;
    },
    deadLetters: createDeadLetters(broker),
    close: async () => {
      await Promise.all([...served.values()].map((subscription) => subscription.stop()));
    },
  };
}

/** Names the processes apart; what the name is decides nothing. */
let lives = 0;

/** Publishes without fault. */
export function createSimulatedPublisher(broker: Broker): MessagePublisher {
  return { publish: async (topic, messages) => broker.store(topic, messages) };
}

/** The state of one partition: how far it is read and handled. */
interface Lease {
  readonly assigned: Assigned;
  readonly dispatcher: Dispatcher;
  readonly watermark: Watermark<number>;
  readonly probation: Probation;
  /** The end of the partition when it was assigned. */
  readonly end: number;
  /** A message of it was received, and the next owner can see that. */
  isBegun: boolean;
  next: number;
  isOver: boolean;
  isReading: boolean;
}

function createGroupMember(
  broker: Broker,
  host: BusHost,
  options: SubscribeOptions & { readonly life: string; readonly trials: Turns },
  onStopped: () => void,
): Subscription {
  const { group, life, trials, inFlightMax = inFlightMaxDefault } = options;
  const types = options.types === undefined ? undefined : new Set(options.types);
  let leases: Lease[] = [];
  let stopping: Promise<void> | undefined;
  let cancelCommit: (() => void) | undefined;

  const park = async (message: Message, failure: { code: string; detail: string; attempts: number }) => {
    await host.enter();
    const parkedAt = new Date(host.clock.now()).toISOString();
    const known = [...broker.parked.values()].find((one) => one.letter === message);
    const id = known?.letter.id ?? String(broker.parked.size + 1);
    broker.parked.set(id, { letter: { ...message, ...failure, id, group, parkedAt }, record: '', state: 'parked' });
  };
  // One for all its partitions, so that the limits apply to the subscription.
  const newDispatcher = () => new Dispatcher({ consumer: options, park, trials, clock: host.clock, log: host.log });
  let dispatcher = newDispatcher();

  const commitOf = ({ assigned, watermark, probation }: Lease, record = probation.record): void => {
    if (host.isDeceived?.() === true) return;
    broker.commit(group, member, { ...assigned, offset: watermark.low(), record });
  };
  const commit = (): void => {
    cancelCommit = undefined;
    if (!host.isAlive()) return;
    for (const lease of leases) if (!lease.isOver && lease.isBegun) commitOf(lease);
  };
  const commitLater = (): void => {
    cancelCommit ??= host.clock.setTimer(commitEveryMs, commit);
  };
  const trialOf = (lease: Lease) => {
    const store = async (): Promise<void> => {
      await host.enter();
      if (!isOver(lease)) commitOf(lease);
    };
    return lease.probation.trial(store, store);
  };
  const take = (lease: Lease, message: Message): Promise<void> | undefined => {
    const { probation } = lease;
    if (lease.next >= lease.end) probation.finish();
    if (!lease.isBegun) commitOf(lease);
    lease.isBegun = true;
    lease.next += 1;
    const type = message.headers['ce_type'] ?? '';
    if (types !== undefined && !types.has(type)) {
      lease.watermark.pass(lease.next);
      commitLater();
      return undefined;
    }
    const end = lease.watermark.begin(lease.next);
    const settled = (): void => {
      end();
      commitLater();
    };
    if (probation.over) return lease.dispatcher.submit(message, settled);
    const released = (): void => {
      probation.settled();
      settled();
    };
    return lease.dispatcher.submitAlone(message, released, trialOf(lease));
  };
  const read = async (lease: Lease): Promise<void> => {
    if (lease.isReading) return;
    lease.isReading = true;
    while (!isOver(lease) && stopping === undefined) {
      const { topic, partition } = lease.assigned;
      const found = broker.read(topic, partition, lease.next);
      if (found === undefined || found.visibleAt > host.clock.monotonic()) break;
      await host.travel();
      await host.enter();
      if (isOver(lease) || lease.dispatcher.stopping) break;
      await take(lease, found.message);
    }
    lease.isReading = false;
  };
  const replay = (parked: Parked): void => {
    parked.state = 'replaying';
    const probation = new Probation({ record: parked.record, life, messagesMax: 1, isSuspect: true });
    const store = (): void => {
      parked.record = probation.record;
    };
    const settled = (): void => {
      if (parked.state === 'replaying' && broker.parked.get(parked.letter.id) === parked) {
        broker.parked.delete(parked.letter.id);
      }
    };
    void dispatcher.submitAlone(parked.letter, settled, probation.trial(store, store));
  };
  const wake = (): void => {
    if (stopping !== undefined || !host.isAlive()) return;
    for (const parked of broker.parked.values()) {
      if (parked.letter.group === group && parked.state === 'waiting') replay(parked);
    }
    for (const lease of leases) void read(lease);
  };
  const member: Member = {
    topics: options.topics,
    assign: (assigned) => {
      for (const lease of leases) lease.isOver = true;
      // Messages of partitions that moved are left to their new owner; running handlers finish.
      if (leases.length > 0) {
        void dispatcher.stop();
        dispatcher = newDispatcher();
      }
      leases = assigned.map((one) => ({
        assigned: one,
        dispatcher,
        watermark: createWatermark(one.offset),
        probation: new Probation({ record: one.record, life, messagesMax: inFlightMax }),
        end: broker.end(one.topic, one.partition),
        isBegun: false,
        next: one.offset,
        isOver: false,
        isReading: false,
      }));
      queueMicrotask(wake);
    },
    revoke: () => {
      if (!host.isAlive()) return;
      for (const lease of leases.filter(({ isBegun }) => isBegun)) {
        if (lease.probation.over) broker.closeRecord(group, member, lease.assigned);
        else commitOf(lease, lease.probation.farewell);
      }
    },
    wake,
  };
  const leave = (): void => {
    for (const lease of leases) lease.isOver = true;
    // The next owner handles what this one began.
    for (const parked of broker.parked.values()) {
      if (parked.letter.group === group && parked.state === 'replaying') parked.state = 'waiting';
    }
    broker.leave(group, member);
  };
  broker.join(group, member);
  host.onDeath(leave);
  const stop = async (): Promise<void> => {
    await dispatcher.stop();
    cancelCommit?.();
    if (host.isAlive())
      for (const lease of leases.filter(({ isBegun }) => isBegun)) commitOf(lease, lease.probation.farewell);
    leave();
    onStopped();
  };
  return {
    status: () => ({
      state: stopping === undefined ? 'running' : 'stopped',
      inFlight: dispatcher.inFlight,
    }),
    stop: () => (stopping ??= stop()),
  };
}

/** The parked messages of the simulated broker. */
export function createDeadLetters(broker: Broker): DeadLetters {
  return {
    list: async ({ group, after = '0', limit = 100 } = {}) =>
      [...broker.parked.values()]
        .filter(({ state, letter }) => state === 'parked' && Number(letter.id) > Number(after))
        .map(({ letter }) => letter)
        .filter((letter) => group === undefined || letter.group === group)
        .slice(0, limit),
    show: async (id) => broker.parked.get(id)?.letter,
    replay: async (id) => {
      const parked = broker.parked.get(id);
      if (parked?.state !== 'parked') return false;
      parked.state = 'waiting';
      broker.wake(parked.letter.group);
      return true;
    },
  };
}
