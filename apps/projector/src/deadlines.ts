import type { DueCall, ReadModel } from '@countersign/read-model';
import type { StoreClock } from '@countersign/event-store';
import type { Log } from '@countersign/runtime';

/** The dependencies of the deadlines. */
export interface DeadlinesPorts {
  readonly readModel: Pick<ReadModel, 'due' | 'nextDueAt' | 'onApplied' | 'checkpoint'>;
  /** Records what a call's deadline brings; null when, seen by its own stream, nothing is due. */
  readonly fireDue: (tenant: string, callId: string) => Promise<number | null>;
  /** Nothing is fired while it has a problem: another process fires it, or this one later. */
  readonly clock: StoreClock;
  readonly log: Log;
  /** How late a deadline was recorded, in ms. */
  readonly onFired?: (lagMs: number) => void;
}

/** Fires the deadlines of all calls: expiry, reminders, the end of the right to run, lapsed claims. */
export interface Deadlines {
  readonly start: () => void;
  readonly stop: () => Promise<void>;
}

const pageSize = 5000;
/** Each one waits for the event store, and holds its call in memory. */
const atOnce = 64;
/** The store's time may jump and timers do not notice: while something is waiting, it is looked at this often. */
const recheckMsMax = 500;
const retryMs = 1000;
/** The longest pause of a call that is due by the view and not by its stream: an event that cannot be read may hold it. */
const pauseMsMax = 32_000;
/** How soon to retry while a due deadline is held back. */
const heldMs = 100;

/**
 * One timer for the earliest deadline, from the read model's sorted index: 100,000 pending approvals cost the same as
 * one. The call's own stream decides whether a deadline is due, so firing early, late or twice does no harm. Calls that
 * are due together fire in parallel, the earliest first; a slow one does not delay the others.
 */
export function createDeadlines(ports: DeadlinesPorts): Deadlines {
  const sweeper = new Sweeper(ports);
  let stopListening: () => void = () => undefined;
  return {
    start: () => {
      stopListening = ports.readModel.onApplied(() => {
        sweeper.arm();
      });
      sweeper.arm();
    },
    stop: () => {
      stopListening();
      return sweeper.stop();
    },
  };
}

/** A call that is not tried again before this time. */
interface Deferred {
  readonly until: number;
  readonly pauseMs: number;
}

class Sweeper {
  readonly #ports: DeadlinesPorts;
  /** The rest of the page that was read last. */
  #queue: DueCall[] = [];
  /** The read model showed no further deadline. The timer checks again. */
  #isDry = false;
  #isStopped = false;
  /** When the timer ends, by the store's time; null: none is set. */
  #armedFor: number | null = null;
  #cancelTimer: () => void = () => undefined;
  readonly #running = new Map<string, Promise<void>>();
  /** Calls that were due by the view and not by their stream, or could not be written: not tried again before this time. */
  readonly #deferred = new Map<string, Deferred>();
  /** Calls that were fired, with the position of what that recorded: until the view shows it, they are due there. */
  readonly #fired = new Map<string, number>();

  constructor(ports: DeadlinesPorts) {
    this.#ports = ports;
  }

  /** Sets the timer. An early timer does no harm. */
  arm(): void {
    if (this.#isStopped) return;
    try {
      const at = this.#wakeAt();
      if (at !== null && this.#armedFor !== null && this.#armedFor <= at) return;
      this.#setTimer(at);
    } catch (error) {
      this.#ports.log.warn({ error }, 'the next deadline could not be read; retrying');
      this.#setTimer(this.#ports.clock.now() + retryMs, retryMs);
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelTimer();
    await Promise.all(this.#running.values());
  }

  #wakeAt(): number | null {
    const now = this.#ports.clock.now();
    const next = this.#ports.readModel.nextDueAt();
    if (next !== null && next <= now && this.#mayNotFire()) return now + recheckMsMax;
    if (next !== null && next <= now && this.#held() > 0) return now + heldMs;
    this.#forget();
    return next;
  }

  /** What is due grants something. A process whose clock is wrong leaves it to others. */
  #mayNotFire(): boolean {
    return this.#ports.clock.problem() !== undefined;
  }

  #held(): number {
    return this.#running.size + this.#deferred.size + this.#fired.size;
  }

  #setTimer(at: number | null, msMax = recheckMsMax): void {
    this.#cancelTimer();
    this.#armedFor = at;
    if (at === null) return;
    const { clock } = this.#ports;
    this.#cancelTimer = clock.setTimer(Math.min(Math.max(0, at - clock.now()), msMax), () => {
      this.#armedFor = null;
      this.#isDry = false;
      this.#fill();
    });
  }

  /** Fires as many due deadlines as may run at once. */
  #fill(): void {
    try {
      while (!this.#isStopped && !this.#mayNotFire() && this.#running.size < atOnce) {
        const due = this.#take();
        if (due === undefined) break;
        this.#running.set(due.callId, this.#fire(due));
      }
    } catch (error) {
      this.#ports.log.warn({ error }, 'the deadlines could not be read; retrying');
      this.#setTimer(this.#ports.clock.now() + retryMs, retryMs);
      return;
    }
    if (this.#queue.length === 0 || this.#mayNotFire()) this.arm();
  }

  /** The next call that is due and not held back. */
  #take(): DueCall | undefined {
    if (this.#queue.length === 0 && !this.#isDry) {
      this.#queue = this.#look();
      this.#isDry = this.#queue.length === 0;
    }
    return this.#queue.shift();
  }

  #look(): DueCall[] {
    const { readModel, clock } = this.#ports;
    const next = readModel.nextDueAt();
    if (next === null || next > clock.now()) return [];
    this.#forget();
    return readModel
      .due(clock.now(), pageSize + this.#held())
      .filter(({ callId }) => !this.#running.has(callId) && !this.#isDeferred(callId) && !this.#fired.has(callId));
  }

  #forget(): void {
    const [now, shown] = [this.#ports.clock.now(), this.#ports.readModel.checkpoint()];
    // One that was not tried again after its pause is due no more.
    for (const [callId, { until, pauseMs }] of this.#deferred) {
      if (until + pauseMs <= now) this.#deferred.delete(callId);
    }
    for (const [callId, position] of this.#fired) if (position <= shown) this.#fired.delete(callId);
  }

  #isDeferred(callId: string): boolean {
    return (this.#deferred.get(callId)?.until ?? -Infinity) > this.#ports.clock.now();
  }

  #defer(callId: string, pauseMs: number): void {
    const boundedMs = Math.min(pauseMs, pauseMsMax);
    this.#deferred.set(callId, { until: this.#ports.clock.now() + boundedMs, pauseMs: boundedMs });
  }

  async #fire({ tenant, callId, dueAt }: DueCall): Promise<void> {
    const { fireDue, clock, log, onFired } = this.#ports;
    // Marked as running first, because it may fail synchronously.
    await Promise.resolve();
    try {
      const position = await fireDue(tenant, callId);
      if (position === null) this.#defer(callId, 2 * (this.#deferred.get(callId)?.pauseMs ?? retryMs / 2));
      else {
        this.#deferred.delete(callId);
        this.#fired.set(callId, position);
        onFired?.(Math.max(0, clock.now() - dueAt));
      }
    } catch (error) {
      this.#defer(callId, retryMs);
      log.warn({ error, callId }, 'a deadline could not be recorded; retrying');
    } finally {
      this.#running.delete(callId);
      this.#fill();
    }
  }
}
