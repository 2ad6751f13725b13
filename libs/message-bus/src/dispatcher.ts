import { createFairQueue } from '@countersign/runtime';
import { Attempts } from './attempts.js';
import type { AttemptsOptions } from './attempts.js';
import { Lane } from './lane.js';
import type { Item } from './lane.js';
import type { Message, Place, SubscribeOptions } from './message-bus.js';
import type { Trial } from './probation.js';
import { Room } from './room.js';

/** How a consumer group handles messages, for every bus. */
export interface DispatcherOptions extends Omit<AttemptsOptions, 'signal'> {
  readonly consumer: AttemptsOptions['consumer'] &
    Pick<SubscribeOptions, 'concurrency' | 'inFlightMax' | 'inFlightBytesMax' | 'placeOf' | 'takeTurn'>;
}

/**
 * Runs a group's handler: in order within a lane, side by side across lanes, in turn between holders, until each message is
 * handled or parked.
 */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #attempts: Attempts;
  readonly #concurrency: number;
  readonly #room: Room;
  readonly #lanes = new Map<unknown, Lane>();
  readonly #ready = createFairQueue<Lane>();
  /** Lanes that are ready, of holders that have used up their turns for now. */
  readonly #resting = new Map<string, Lane[]>();
  readonly #cancelTimers = new Set<() => void>();
  readonly #abort = new AbortController();
  readonly #waitingForIdle: (() => void)[] = [];
  /** Messages get their places in the order of arrival. */
  #placed: Promise<void> = Promise.resolve();
  #arrived = 0;
  #running = 0;
  /** A message on trial is being handled. */
  #isAlone = false;
  /** The value of the signal, read for each event of the log. */
  #isStopping = false;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#attempts = new Attempts({ ...options, signal: this.#abort.signal });
    this.#concurrency = options.consumer.concurrency ?? 16;
    this.#room = new Room(options.consumer);
  }

  /** Messages received and not yet handled or parked. */
  get inFlight(): number {
    return this.#room.count;
  }

  /** Why a message can neither be handled nor put aside, where that is so: it is tried again, its key waits. */
  get stuck(): string | undefined {
    return this.#attempts.stuck;
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
    this.#add(message, settled, undefined);
    return this.#room.isFull && !this.stopping ? this.#room.untilFree() : undefined;
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
      this.#add(message, end, trial);
      if (signal.aborted) resolve();
      else signal.addEventListener('abort', release, { once: true });
    });
  }

  #add(message: Message, settled: () => void, trial: Trial | undefined): void {
    const { placeOf } = this.#options.consumer;
    const item = { number: this.#arrived, message, settled, trial, failures: { counted: 0, transient: 0 } };
    this.#arrived += 1;
    this.#room.take(message.bytes ?? 0);
    if (placeOf === undefined) {
      this.#enter(item, { holder: '', lane: message.key });
      return;
    }
    const place = placeOf(message);
    this.#placed = this.#placed.then(async () => this.#enter(item, await place));
  }

  #enter(item: Item, { holder, lane: name }: Place): void {
    const key: unknown = name === null ? Symbol() : `${String(holder.length)}:${holder}${name}`;
    const lane = this.#lanes.get(key) ?? new Lane(key, holder);
    this.#lanes.set(key, lane);
    lane.push(item);
    this.#makeReady(lane);
    this.#pump();
  }

  /** Starts no more handlers and waits for the running ones. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#abort.abort();
    for (const cancel of this.#cancelTimers) cancel();
    this.#cancelTimers.clear();
    this.#room.release();
    if (this.#running > 0) await new Promise<void>((resolve) => this.#waitingForIdle.push(resolve));
  }

  /** A lane that has messages, none of which is being handled or waits already. */
  #makeReady(lane: Lane): void {
    if (lane.isBusy || lane.first === undefined) return;
    lane.isBusy = true;
    this.#queue(lane);
  }

  #queue(lane: Lane): void {
    const resting = this.#resting.get(lane.holder);
    if (resting === undefined) this.#ready.push(lane.holder, lane);
    else resting.push(lane);
  }

  #pump(): void {
    for (;;) {
      const lane = this.#ready.next();
      const item = lane?.first;
      if (lane === undefined || item === undefined || !this.#mayStart(item)) return;
      const restMs = this.#options.consumer.takeTurn?.(lane.holder) ?? 0;
      if (restMs > 0) this.#rest(lane.holder, restMs);
      else this.#start(lane, item);
    }
  }

  #mayStart({ trial }: Item): boolean {
    if (this.stopping || this.#isAlone || this.#running >= this.#concurrency) return false;
    // A message on trial waits for the running handlers, and the others wait for it.
    return trial === undefined || this.#running === 0;
  }

  #start(lane: Lane, item: Item): void {
    this.#isAlone = item.trial !== undefined;
    this.#ready.shift();
    this.#running += 1;
    lane.isRunning = true;
    void this.#run(lane, item);
  }

  /** A holder has used up its turns: its messages wait, and those of the others do not. */
  #rest(holder: string, restMs: number): void {
    this.#resting.set(holder, [...this.#ready.takeAll(holder)]);
    this.#later(restMs, () => {
      const lanes = this.#resting.get(holder) ?? [];
      this.#resting.delete(holder);
      for (const lane of lanes) this.#queue(lane);
    });
  }

  async #run(lane: Lane, item: Item): Promise<void> {
    const outcome = await this.#attempts.make(lane, item);
    this.#running -= 1;
    this.#isAlone = false;
    lane.isRunning = false;
    if (outcome.status === 'settled') this.#settle(lane, item);
    else if (outcome.status === 'early') this.#setApart(lane, item, outcome);
    else this.#later(outcome.afterMs, () => this.#queue(lane));
    this.#pump();
    if (this.#running === 0) for (const resolve of this.#waitingForIdle.splice(0)) resolve();
  }

  #settle(lane: Lane, item: Item): void {
    item.settled();
    lane.settle(item);
    this.#goOn(lane);
    this.#room.giveBack(item.message.bytes ?? 0);
  }

  /** The message waits apart; the lane goes on. */
  #setApart(
    lane: Lane,
    item: Item,
    { subject, afterMs }: { readonly subject: string; readonly afterMs: number },
  ): void {
    if (lane.setApart(item, subject)) {
      this.#later(afterMs, () => {
        lane.takeBack(item);
        this.#makeReady(lane);
      });
    }
    this.#goOn(lane);
  }

  #goOn(lane: Lane): void {
    lane.isBusy = false;
    if (lane.isEmpty) this.#lanes.delete(lane.key);
    else this.#makeReady(lane);
  }

  /** Messages that wait take no place of the running ones. */
  #later(delayMs: number, then: () => void): void {
    if (this.stopping) return;
    const cancel = this.#options.clock.setTimer(delayMs, () => {
      this.#cancelTimers.delete(cancel);
      then();
      this.#pump();
    });
    this.#cancelTimers.add(cancel);
  }
}
