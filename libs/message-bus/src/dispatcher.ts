import type { Clock, Log } from '@countersign/runtime';
import { describeError, judgeFailure, retryDelayMs } from './failure.js';
import type { Failure, Failures, RetryOptions } from './failure.js';
import type { Message, SubscribeOptions } from './message-bus.js';
import { crashFailure } from './probation.js';
import type { Trial } from './probation.js';
import { Turns } from './turns.js';

/** How a consumer group handles messages, for every bus. */
export interface DispatcherOptions {
  readonly consumer: RetryOptions & Pick<SubscribeOptions, 'onMessage' | 'concurrency' | 'inFlightMax'>;
  /** Parks a message in the dead letters. MUST resolve only when it is stored; a rejection is retried. */
  readonly park: (message: Message, failure: Failure) => Promise<void>;
  /** Among the dispatchers of one process, one message is on trial at a time. */
  readonly trials?: Turns;
  readonly clock: Clock;
  readonly log: Log;
}

/** How many messages a group holds in memory. */
export const inFlightMaxDefault = 1024;

interface Item {
  readonly message: Message;
  readonly settled: () => void;
  readonly trial: Trial | undefined;
  failures: Failures;
  /** Set once no further try is left. */
  parking?: Failure;
}

/** The messages of one key. The first one runs, or waits for its retry or for a free place. */
interface Lane {
  readonly key: unknown;
  readonly items: Item[];
}

/** Runs a group's handler: in order within a key, side by side across keys, until each message is handled or parked. */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #trials: Turns;
  readonly #concurrency: number;
  readonly #inFlightMax: number;
  readonly #lanes = new Map<unknown, Lane>();
  readonly #ready: Lane[] = [];
  readonly #cancelRetries = new Set<() => void>();
  readonly #abort = new AbortController();
  readonly #waitingForRoom: (() => void)[] = [];
  readonly #waitingForIdle: (() => void)[] = [];
  /** A message that can neither be handled nor parked now, and the reason. */
  readonly #stuck = new Map<Item, string>();
  #inFlight = 0;
  #running = 0;
  /** A message on trial is being handled. */
  #isAlone = false;
  /** The value of the signal, read for each event of the log. */
  #isStopping = false;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#trials = options.trials ?? new Turns();
    this.#concurrency = options.consumer.concurrency ?? 16;
    this.#inFlightMax = options.consumer.inFlightMax ?? inFlightMaxDefault;
  }

  /** Messages received and not yet handled or parked. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Why a message can neither be handled nor put aside, where that is so: it is tried again, its key waits. */
  get stuck(): string | undefined {
    for (const why of this.#stuck.values()) return why;
    return undefined;
  }

  get stopping(): boolean {
    return this.#isStopping;
  }

  /** Aborts when it stops. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /**
   * Accepts a message; `settled` is called once it is handled or parked, and never if it still waits at the stop. A
   * promise means that the buffer is full: await it before the next message.
   */
  submit(message: Message, settled: () => void): Promise<void> | undefined {
    this.#add({ message, settled, trial: undefined, failures: { counted: 0, transient: 0 } });
    if (this.#inFlight < this.#inFlightMax || this.stopping) return undefined;
    return new Promise((resolve) => this.#waitingForRoom.push(resolve));
  }

  /**
   * Accepts a message that may have crashed a process: its handler runs alone. Resolves when it is settled, or this
   * dispatcher stops.
   */
  submitAlone(message: Message, settled: () => void, trial: Trial): Promise<void> {
    const { signal } = this.#abort;
    return new Promise((resolve) => {
      const release = (): void => resolve();
      const end = (): void => {
        signal.removeEventListener('abort', release);
        settled();
        resolve();
      };
      this.#add({ message, settled: end, trial, failures: { counted: 0, transient: 0 } });
      if (signal.aborted) resolve();
      else signal.addEventListener('abort', release, { once: true });
    });
  }

  #add(item: Item): void {
    const { message } = item;
    // A message without a key waits for no other.
    const key: unknown = message.key ?? Symbol();
    const lane = this.#lanes.get(key);
    this.#inFlight += 1;
    if (lane === undefined) this.#open({ key, items: [item] });
    else lane.items.push(item);
  }

  /** Starts no more handlers and waits for the running ones. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#abort.abort();
    for (const cancel of this.#cancelRetries) cancel();
    this.#cancelRetries.clear();
    for (const resolve of this.#waitingForRoom.splice(0)) resolve();
    if (this.#running > 0) await new Promise<void>((resolve) => this.#waitingForIdle.push(resolve));
  }

  #open(lane: Lane): void {
    this.#lanes.set(lane.key, lane);
    this.#ready.push(lane);
    this.#pump();
  }

  #pump(): void {
    while (!this.stopping && !this.#isAlone && this.#running < this.#concurrency) {
      const [lane] = this.#ready;
      const item = lane?.items[0];
      if (lane === undefined || item === undefined) return;
      // It waits for the running handlers, and the others wait for it.
      if (item.trial !== undefined && this.#running > 0) return;
      this.#isAlone = item.trial !== undefined;
      this.#ready.shift();
      this.#running += 1;
      void this.#run(lane, item);
    }
  }

  async #run(lane: Lane, item: Item): Promise<void> {
    const retryAfterMs = await this.#step(item);
    this.#running -= 1;
    this.#isAlone = false;
    if (retryAfterMs === undefined) this.#settle(lane, item);
    else this.#runLater(lane, retryAfterMs);
    this.#pump();
    if (this.#running === 0) for (const resolve of this.#waitingForIdle.splice(0)) resolve();
  }

  /** Resolves with the pause before the next try, or nothing when the message is settled. */
  #step(item: Item): Promise<number | undefined> {
    if (item.parking !== undefined) return this.#park(item, item.parking);
    return item.trial === undefined ? this.#handle(item) : this.#handleAlone(item, item.trial);
  }

  async #handleAlone(item: Item, trial: Trial): Promise<number | undefined> {
    const failure = crashFailure(trial.crashes);
    if (failure !== undefined) return this.#giveUp(item, failure);
    const endTurn = await this.#trials.take();
    try {
      if (this.stopping) return 0;
      await trial.begin();
      return await this.#handle(item);
    } catch (error) {
      this.#options.log.warn({ error }, `a message on trial was not started, retrying: ${describeError(error)}`);
      return retryDelayMs(Number.MAX_SAFE_INTEGER, this.#options.consumer);
    } finally {
      await trial.end();
      endTurn();
    }
  }

  async #handle(item: Item): Promise<number | undefined> {
    const { consumer, log } = this.#options;
    try {
      await consumer.onMessage(item.message, { attempt: item.failures.counted + 1, signal: this.#abort.signal });
      return undefined;
    } catch (error) {
      // A handler that stopped on its signal has not failed: the message comes again.
      if (this.stopping) return 0;
      const verdict = judgeFailure(error, item.failures, consumer);
      const where = { topic: item.message.topic, offset: item.message.offset };
      if (verdict.action === 'retry') {
        log.warn({ ...where, error, retryAfterMs: verdict.afterMs }, 'a message was not handled; retrying');
        item.failures = verdict.failures;
        return verdict.afterMs;
      }
      return this.#giveUp(item, verdict.failure, error);
    }
  }

  #giveUp(item: Item, failure: Failure, error?: unknown): Promise<number | undefined> {
    const { topic, partition, offset } = item.message;
    const { code, detail, attempts } = failure;
    const why = error === undefined ? { detail } : { error };
    this.#options.log.error({ topic, partition, offset, code, attempts, ...why }, 'a message is parked');
    item.parking = failure;
    return this.#park(item, failure);
  }

  /** A message that can neither be handled nor parked stays where it is: the group's progress never passes it. */
  async #park(item: Item, failure: Failure): Promise<number | undefined> {
    try {
      await this.#options.park(item.message, failure);
      this.#stuck.delete(item);
      return undefined;
    } catch (error) {
      const { topic, partition, offset } = item.message;
      const where = `${topic} ${String(partition)}@${offset}`;
      this.#stuck.set(item, `${where} (${failure.code}) cannot be put aside: ${describeError(error)}`);
      this.#options.log.error({ error }, `a message cannot be parked, retrying: ${describeError(error)}`);
      return retryDelayMs(Number.MAX_SAFE_INTEGER, this.#options.consumer);
    }
  }

  #settle(lane: Lane, item: Item): void {
    item.settled();
    lane.items.shift();
    if (lane.items.length > 0) this.#ready.push(lane);
    else this.#lanes.delete(lane.key);
    this.#inFlight -= 1;
    if (this.#inFlight < this.#inFlightMax) this.#waitingForRoom.shift()?.();
  }

  /** Its key waits outside the running ones, so a failing message takes no place from other keys. */
  #runLater(lane: Lane, delayMs: number): void {
    if (this.stopping) return;
    const cancel = this.#options.clock.setTimer(delayMs, () => {
      this.#cancelRetries.delete(cancel);
      this.#ready.push(lane);
      this.#pump();
    });
    this.#cancelRetries.add(cancel);
  }
}
