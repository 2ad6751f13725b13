import type { Clock, Log } from '@countersign/runtime';
import { sleep } from '@countersign/runtime';
import { EventStoreDamagedError } from '../event-store.js';
import type { Head } from './log-file.js';
import { beforeFirst } from './verification.js';
import type { Pass, Verification, VerifyOptions, VerifyResult } from './verification.js';
import type { WriteGuard } from './write-guard.js';

/** What is proven since the store was opened. */
export interface Verified {
  /** Every event up to this position was proven; 0: the first pass has not ended. */
  readonly position: number;
  /** When a pass ended last, in milliseconds since the epoch; null: none has ended. */
  readonly atMs: number | null;
  readonly isDamaged: boolean;
}

/** Verifies an opened log. Damage makes the store read-only at once. */
export interface Verifier {
  /**
   * Proves every event from the first one on, in slices.
   * @example const result = await store.verify({ onProgress: (verified, total) => bar.update(verified / total) });
   */
  readonly verify: (options?: VerifyOptions) => Promise<VerifyResult>;
  /**
   * Proves the whole log now and once a day, and the newest events once a minute, with at most a twentieth of a core.
   * Resolves when the store is closed or damaged.
   */
  readonly keepVerifying: () => Promise<void>;
  readonly verified: () => Verified;
  /** Runs a read. Damage that it meets counts as found. */
  readonly watched: <T>(read: () => T) => T;
}

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

/** What a verifier works with. */
export interface VerifierParts {
  readonly verification: Verification;
  readonly guard: WriteGuard;
  readonly clock: Clock;
  readonly log: Log;
  readonly closing: AbortSignal;
}

/** The verifier of an opened log. */
export function createVerifier({ verification, guard, clock, log, closing }: VerifierParts): Verifier {
  let verified: Verified = { position: 0, atMs: null, isDamaged: false };
  const damaged = (error: EventStoreDamagedError): void => {
    if (verified.isDamaged) return;
    verified = { ...verified, isDamaged: true };
    guard.damaged(error.message);
    log.error({ error }, 'the event store is read-only: stored events are damaged');
  };
  const pass = async (from: Head, options: VerifyOptions, background: boolean): Promise<Pass> => {
    const signal = options.signal === undefined ? closing : AbortSignal.any([options.signal, closing]);
    const passed = await verification.verifyFrom(from, { ...options, signal, background });
    const { result } = passed;
    if (result.status === 'damaged') damaged(result.error);
    if (result.status === 'ok') verified = { ...verified, position: result.verified, atMs: clock.now() };
    return passed;
  };
  /** A pass over the whole log, and the events of a day after it. */
  const verifyDay = async (): Promise<void> => {
    const startedMs = clock.monotonic();
    let from = beforeFirst;
    while (!closing.aborted && clock.monotonic() - startedMs < dayMs) {
      const { result, end } = await pass(from, {}, true);
      if (result.status !== 'ok') return;
      from = end;
      await sleep(clock, minuteMs, closing);
    }
  };
  return {
    verify: async (options = {}) => (await pass(beforeFirst, options, false)).result,
    keepVerifying: async () => {
      while (!closing.aborted && !verified.isDamaged) {
        try {
          await verifyDay();
        } catch (error) {
          log.warn({ error }, 'the log could not be read to verify it; it is tried again in a minute');
          await sleep(clock, minuteMs, closing);
        }
      }
    },
    verified: () => verified,
    watched: (read) => {
      try {
        return read();
      } catch (error) {
        if (error instanceof EventStoreDamagedError) damaged(error);
        throw error;
      }
    },
  };
}
