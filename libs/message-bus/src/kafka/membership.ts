import type { Clock } from '@countersign/runtime';
import { BusUnavailableError } from './bus-errors.js';

/** The client keeps reading although it is no longer a member of its group: its messages must be ignored. */
export class MembershipLostError extends BusUnavailableError {
  override readonly name = 'MembershipLostError';
}

/** How late a heartbeat may be while the client reads: it sends one after a read when it is due. */
const graceMs = 3_000;

/**
 * Watches the membership of the vendor's client in its group, through the client's own events.
 *
 * When its attempt to rejoin fails with a transient error, such as a loading coordinator, the client does not retry it
 * and keeps reading: either with its old membership, whose partitions we have given up, or with none and without
 * heartbeats. Neither ends by itself, and messages would wait for ever.
 */
export class Membership {
  /** Rejects when the membership is lost. */
  readonly lost: Promise<never>;
  readonly #lose: (error: Error) => void;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #sessionTimeoutMs: number;
  #isJoining = false;
  #heardAt: number;
  #overdueSince: number | undefined;

  constructor(clock: Pick<Clock, 'monotonic'>, sessionTimeoutMs: number) {
    const { promise, reject } = Promise.withResolvers<never>();
    // It may be lost when no caller waits for it.
    promise.catch(() => undefined);
    [this.lost, this.#lose] = [promise, reject];
    this.#clock = clock;
    this.#sessionTimeoutMs = sessionTimeoutMs;
    this.#heardAt = clock.monotonic();
  }

  /** The client starts to rejoin. */
  joining(): void {
    this.#isJoining = true;
  }

  /** The client has joined the group. */
  joined(): void {
    this.#isJoining = false;
    this.heard();
  }

  /** The group has accepted a heartbeat. */
  heard(): void {
    this.#heardAt = this.#clock.monotonic();
    this.#overdueSince = undefined;
  }

  /** The client asks for messages. */
  reading(): void {
    if (this.#isJoining)
      this.#lose(new MembershipLostError('the consumer keeps reading, but has not rejoined its group'));
    const now = this.#clock.monotonic();
    if (now - this.#heardAt <= this.#sessionTimeoutMs) return;
    this.#overdueSince ??= now;
    if (now - this.#overdueSince <= graceMs) return;
    const seconds = Math.round((now - this.#heardAt) / 1000);
    this.#lose(new MembershipLostError(`the consumer reads on, but its group has not heard it for ${seconds} s`));
  }
}
