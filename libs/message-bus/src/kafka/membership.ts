import type { Clock } from '@countersign/runtime';
import { BusUnavailableError } from './bus-errors.js';

/** The client reads on although it is no member of its group any more: nothing that it reads may count. */
export class MembershipLostError extends BusUnavailableError {
  override readonly name = 'MembershipLostError';
}

/** How long a heartbeat may be overdue while the client reads: it sends one after each read once it is time. */
const graceMs = 3_000;

/**
 * Whether the vendor's client is a member of its group, by what it tells of itself.
 *
 * When its try to join anew fails with what may pass, such as a coordinator that is still loading, the client does not
 * try to join again but reads on as if nothing had happened: as the member that it was, whose partitions we have given
 * up, or as nobody, without a heartbeat. Neither ends by itself, and messages wait for ever.
 */
export class Membership {
  /** Rejects when it is lost. */
  readonly lost: Promise<never>;
  readonly #lose: (error: Error) => void;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #sessionTimeoutMs: number;
  #isJoining = false;
  #heardAt: number;
  #overdueSince: number | undefined;

  constructor(clock: Pick<Clock, 'monotonic'>, sessionTimeoutMs: number) {
    const { promise, reject } = Promise.withResolvers<never>();
    // It may be lost when nobody waits for it any more.
    promise.catch(() => undefined);
    [this.lost, this.#lose] = [promise, reject];
    this.#clock = clock;
    this.#sessionTimeoutMs = sessionTimeoutMs;
    this.#heardAt = clock.monotonic();
  }

  /** The client begins to join anew. */
  joining(): void {
    this.#isJoining = true;
  }

  /** The group has taken it in. */
  joined(): void {
    this.#isJoining = false;
    this.heard();
  }

  /** The group has taken a heartbeat. */
  heard(): void {
    this.#heardAt = this.#clock.monotonic();
    this.#overdueSince = undefined;
  }

  /** The client asks for messages. */
  reading(): void {
    if (this.#isJoining)
      this.#lose(new MembershipLostError('the consumer reads on, but has not joined its group anew'));
    const now = this.#clock.monotonic();
    if (now - this.#heardAt <= this.#sessionTimeoutMs) return;
    this.#overdueSince ??= now;
    if (now - this.#overdueSince <= graceMs) return;
    const seconds = Math.round((now - this.#heardAt) / 1000);
    this.#lose(new MembershipLostError(`the consumer reads on, but its group has not heard it for ${seconds} s`));
  }
}
