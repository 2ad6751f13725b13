import { startStopwatch } from '@countersign/runtime';
import type { Clock, Log } from '@countersign/runtime';
import type { ExecutionAnswer, SignReceipt } from './executions.js';

export interface LeaseOptions {
  readonly leaseMs: number;
  /** How many ms ago the claim was asked for: its lease cannot end earlier than `leaseMs` after that. */
  readonly sinceAskedMs: () => number;
  readonly renew: () => Promise<ExecutionAnswer>;
  /** Signs the receipt of the claim; each renewal has the next one. Default: there is none. */
  readonly receipt?: SignReceipt | undefined;
  /** Another process has the claim. */
  readonly onLost: () => void;
  readonly clock: Clock;
  readonly log: Log;
}

/** Renews a claim while its tool runs and its outcome is not recorded. */
export class Lease {
  readonly #options: LeaseOptions;
  #sinceAskedMs: () => number;
  #receipt: SignReceipt | undefined;
  #cancel: (() => void) | undefined;
  #ended = false;

  constructor(options: LeaseOptions) {
    this.#options = options;
    this.#sinceAskedMs = options.sinceAskedMs;
    this.#receipt = options.receipt;
    this.#later(options.leaseMs / 3);
  }

  /** Returns whether the lease certainly holds: a process or machine that was suspended must not begin to execute. */
  holds(): boolean {
    return !this.#ended && this.#sinceAskedMs() < this.#options.leaseMs;
  }

  /** The receipt of the claim as long as its lease is now; undefined without one. */
  receipt(): string | undefined {
    return this.#receipt?.();
  }

  /** Stops renewing. */
  end(): void {
    this.#ended = true;
    this.#cancel?.();
  }

  #later(delayMs: number): void {
    this.#cancel = this.#options.clock.setTimer(delayMs, () => void this.#renew());
  }

  async #renew(): Promise<void> {
    const { leaseMs, renew, onLost, clock, log } = this.#options;
    const sinceAskedMs = startStopwatch(clock);
    let delayMs = leaseMs / 3;
    try {
      const answer = await renew();
      if (this.#ended) return;
      if (answer.status === 'refused') {
        log.warn({ code: answer.refusal.code }, 'the claim is lost');
        this.end();
        onLost();
        return;
      }
      this.#sinceAskedMs = sinceAskedMs;
      this.#receipt = answer.receipt;
    } catch (error) {
      // The tool continues: its outcome can still be reported, even after the lease.
      log.warn({ error }, 'the claim could not be renewed; retrying');
      delayMs = leaseMs / 6;
    }
    if (!this.#ended) this.#later(delayMs);
  }
}
