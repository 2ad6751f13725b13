import { backoffMs } from '@countersign/contracts';

const backoff = { firstMs: 1_000, maxMs: 30_000 };
const askedMsMax = 86_400_000;

/**
 * The pause after a number of failures in a row: 1 s, each time twice as long, at most 30 s. The other side can ask for a
 * longer one, up to a day.
 *
 * The attack: it asks for none, and gets the message without end.
 */
export function retryPauseMs(failures: number, askedMs = 0): number {
  const asked = Number.isFinite(askedMs) ? Math.min(askedMs, askedMsMax) : 0;
  return Math.max(asked, backoffMs(failures, backoff));
}
