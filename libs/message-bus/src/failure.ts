import { backoffMs } from '@countersign/contracts';
import { PoisonMessageError } from './message-bus.js';
import type { SubscribeOptions } from './message-bus.js';

/** Why a message is parked. */
export interface Failure {
  readonly code: string;
  readonly detail: string;
  readonly attempts: number;
}

/** How often one message has failed: by its own fault, and by its surroundings. */
export interface Failures {
  readonly counted: number;
  readonly transient: number;
}

/** The next step for a message after a failed attempt. */
export type NextStep =
  | { readonly action: 'retry'; readonly failures: Failures; readonly afterMs: number }
  | { readonly action: 'park'; readonly failure: Failure };

export type RetryOptions = Pick<
  SubscribeOptions,
  'attemptsMax' | 'retryDelayMsMin' | 'retryDelayMsMax' | 'isTransient'
>;

/** The failures may be anything: handlers of others throw what they like. */
export function describeError(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}

/** The pause before the next attempt after a number of failures. */
export function retryDelayMs(failures: number, options: RetryOptions): number {
  const { retryDelayMsMin = 100, retryDelayMsMax = 5_000 } = options;
  return backoffMs(failures, { firstMs: retryDelayMsMin, maxMs: retryDelayMsMax });
}

/** Retries transient failures, parks permanent ones. `before` are the earlier failures. */
export function judgeFailure(error: unknown, before: Failures, options: RetryOptions): NextStep {
  if (options.isTransient?.(error) === true) {
    const failures = { ...before, transient: before.transient + 1 };
    return { action: 'retry', failures, afterMs: retryDelayMs(failures.transient, options) };
  }
  const failures = { ...before, counted: before.counted + 1 };
  const poison = error instanceof PoisonMessageError;
  if (!poison && failures.counted < (options.attemptsMax ?? 5)) {
    return { action: 'retry', failures, afterMs: retryDelayMs(failures.counted, options) };
  }
  const code = poison ? error.code : 'handler-failed';
  return { action: 'park', failure: { code, detail: describeError(error), attempts: failures.counted } };
}
