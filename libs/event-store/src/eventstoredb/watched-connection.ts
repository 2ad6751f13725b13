import { sleep } from '@countersign/runtime';
import type { StoreHealth } from '../event-store.js';
import { EventStoreUnavailableError } from '../event-store.js';
import type { EventStoreClient } from './client.js';
import { areSame, textOf } from './connection-string.js';
import type { Endpoint } from './connection-string.js';
import type { Connection, ConnectionOptions, Link } from './connection.js';
import { whyOf } from './denied.js';
import { ReplacedError, meaningOf } from './errors.js';
import type { Sighting } from './members.js';
import { outageOf } from './outages.js';
import { settled } from './settled.js';

/** After this many failed calls in a row, a new client asks a server that responds to others. */
const failuresMax = 3;
/** New clients in a row without a response. */
const replacementsMax = 3;
/** How often the server and the members are asked while something is wrong. */
const againMs = 500;
/** A call that waits this long triggers a look at the members, since the leader may have changed. */
const suspectMs = 1000;
const disposeMsMax = 2000;

/** Opens a connection and begins to ask after the server. */
export function createConnection(options: ConnectionOptions): Connection {
  const connection = new WatchedConnection(options);
  connection.start();
  return {
    call: (deadlineMs, work) => connection.call(deadlineMs, work),
    linked: () => connection.linked(),
    health: () => connection.health(),
    closing: connection.closing,
    close: () => connection.close(),
  };
}

interface OpenLink extends Link {
  readonly end: AbortController;
}

class WatchedConnection {
  readonly #options: ConnectionOptions;
  readonly #closing = new AbortController();
  readonly #first = Promise.withResolvers<OpenLink>();
  #link: OpenLink | undefined;
  #failures = 0;
  #replacements = 0;
  /** The error of the last call; undefined: no error. */
  #problem: string | undefined = 'the event store has not answered yet';
  /** The members' view of it. */
  #outage: string | undefined;
  #heardAt = -Infinity;
  #answeredAt: number;
  #hasAnswered = false;
  #isWedged = false;
  #waiting = 0;
  #isWatching = false;
  #cancelProbe = (): void => undefined;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#answeredAt = options.clock.monotonic();
    // When the store closes, the promise may have no listener.
    this.#first.promise.catch(() => undefined);
  }

  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  start(): void {
    const { only } = this.#options;
    if (only === undefined) void this.#watch();
    else this.#open(only);
    void this.#probe();
  }

  async call<T>(deadlineMs: number, work: (client: EventStoreClient, signal: AbortSignal) => Promise<T>): Promise<T> {
    if (this.closing.aborted) throw closedError();
    const used = this.#link ?? (await this.#firstWithin(deadlineMs));
    let waits = 0;
    const suspect = (): void => {
      this.#waiting += waits = 1;
      void this.#watch();
    };
    const ends = [
      { signal: this.closing, error: closedMeanwhile },
      { signal: used.replaced, error: replacedMeanwhile },
    ];
    const limits = { deadlineMs, suspectMs, suspect, ends };
    try {
      const value = await settled(this.#options.clock, limits, (signal) => work(used.client, signal));
      this.#note(used);
      return value;
    } catch (error) {
      this.#note(used, error);
      throw error;
    } finally {
      this.#waiting -= waits;
    }
  }

  async linked(): Promise<Link> {
    if (this.closing.aborted) throw closedError();
    return this.#link ?? this.#first.promise;
  }

  health(): StoreHealth {
    if (this.closing.aborted) return { status: 'unavailable', why: 'the event store is closed' };
    if (this.#problem === undefined) return { status: 'ok' };
    return { status: 'unavailable', why: [this.#outage, this.#problem].filter(Boolean).join(': ') };
  }

  async close(): Promise<void> {
    if (this.closing.aborted) return;
    this.#closing.abort();
    this.#cancelProbe();
    this.#first.reject(closedError());
    const { clock } = this.#options;
    const link = this.#link;
    if (link === undefined) return;
    link.end.abort();
    // A client without a connection may never be done with its own end.
    await settled(clock, { deadlineMs: disposeMsMax }, () => link.client.dispose()).catch(() => undefined);
  }

  async #firstWithin(deadlineMs: number): Promise<OpenLink> {
    const limits = { deadlineMs, ends: [{ signal: this.closing, error: closedError }] };
    return settled(this.#options.clock, limits, () => this.#first.promise).catch(() => {
      throw new EventStoreUnavailableError(this.#outage ?? 'no leader of the event store is known yet');
    });
  }

  #open(server: Endpoint): void {
    const end = new AbortController();
    this.#link = { client: this.#options.connect(server), server, end, replaced: end.signal };
    this.#first.resolve(this.#link);
  }

  /** Continues with another client. The calls of the old one end at once, and can be retried. */
  #relink(server: Endpoint, fields: object, message: string): void {
    const old = this.#link;
    this.#failures = 0;
    this.#open(server);
    this.#options.log.warn({ server: textOf(server), ...fields }, message);
    if (old === undefined) return;
    old.end.abort();
    old.client.dispose().catch((error: unknown) => {
      this.#options.log.debug({ error }, 'the old client of the event store did not end cleanly');
    });
  }

  /** Records the result of a call on the current client; results of older clients are ignored. */
  #note(used: OpenLink, error?: unknown): void {
    if (used !== this.#link || this.closing.aborted) return;
    this.#heardAt = this.#options.clock.monotonic();
    const verdict = error === undefined ? undefined : meaningOf(error);
    if (verdict?.kind === 'unknown' && verdict.answered !== true) {
      this.#failures += 1;
      this.#failed(whyOf(error));
      return;
    }
    // Any response counts, also a refusal and a closed port: the client works.
    [this.#failures, this.#replacements, this.#answeredAt] = [0, 0, this.#heardAt];
    if (verdict?.kind === 'not-written') this.#failed(whyOf(error));
    else this.#answered(used);
  }

  #answered({ server }: Link): void {
    if (this.#problem !== undefined) {
      this.#options.log.info({ server: textOf(server) }, 'the event store answers');
      if (!this.#hasAnswered) this.#options.onAnswer(server);
      this.#hasAnswered = true;
    }
    [this.#problem, this.#outage] = [undefined, undefined];
  }

  #failed(why: string): void {
    if (this.#problem === undefined) this.#options.log.warn({ why }, 'the event store does not answer');
    this.#problem = why;
    void this.#watch();
  }

  /** Asks the members while something is wrong, or calls wait for long. */
  async #watch(): Promise<void> {
    if (this.#isWatching) return;
    this.#isWatching = true;
    const { clock, members } = this.#options;
    while (!this.closing.aborted && (this.#problem !== undefined || this.#waiting > 0)) {
      const seen = await members.look();
      try {
        this.#judge(seen);
      } catch (error) {
        this.#outage = whyOf(error);
      }
      await sleep(clock, againMs, this.closing);
    }
    this.#isWatching = false;
  }

  #judge(seen: Sighting): void {
    if (this.closing.aborted) return;
    const { leader, hasLeaderAnswered } = seen;
    if (leader === undefined || !hasLeaderAnswered) {
      this.#outage = outageOf(seen);
      // Not even a new connection gets a response, so there is no need to wait for the deadlines of the calls.
      if (this.#waiting > 0 && this.#problem === undefined) this.#failed('calls wait for an answer');
      return;
    }
    this.#outage = undefined;
    if (this.#link === undefined) this.#open(leader);
    else if (!areSame(leader, this.#link.server)) this.#relink(leader, {}, 'another server leads the event store');
    else if (this.#failures >= failuresMax) this.#replace(leader);
  }

  /** The server responds to others and not to us: a new client asks it on a new connection. */
  #replace(server: Endpoint): void {
    const { clock, onWedged, wedgedMs } = this.#options;
    const why = this.#problem;
    this.#replacements += 1;
    const replacements = this.#replacements;
    this.#relink(server, { why, replacements }, 'the client of the event store is replaced');
    if (replacements < replacementsMax || clock.monotonic() - this.#answeredAt < wedgedMs) return;
    this.#problem = `${textOf(server)} answers others, and not this process with ${String(replacements)} new clients: ${why ?? ''}`;
    if (!this.#isWedged) onWedged(this.#problem);
    this.#isWedged = true;
  }

  async #probe(): Promise<void> {
    const { clock, probeMs, probeTimeoutMs, probe } = this.#options;
    const dueMs = this.#problem === undefined ? probeMs : againMs;
    const leftMs = this.#heardAt + dueMs - clock.monotonic();
    // Its failure is noted by `call`.
    if (leftMs <= 0) await this.call(probeTimeoutMs, probe).catch(() => undefined);
    if (this.closing.aborted) return;
    this.#cancelProbe = clock.setTimer(Math.max(leftMs, againMs), () => void this.#probe());
  }
}

function closedError(): Error {
  return new EventStoreUnavailableError('the event store is closed');
}

function closedMeanwhile(): Error {
  return new ReplacedError('the event store was closed meanwhile');
}

function replacedMeanwhile(): Error {
  return new ReplacedError('the client of the event store was replaced meanwhile');
}
