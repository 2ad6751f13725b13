/** One use of a receipt. */
export interface ReceiptUse {
  readonly jti: string;
  /** That of the request that brings the receipt; null: it has none. */
  readonly idempotencyKey: string | null;
  /** Until when the use must be known, in milliseconds since 1970. */
  readonly keepUntil: number;
}

/** `first`: nothing ran with it. `repeated`: a request with the same key did. `used`: another request did. */
export type UseOfReceipt = 'first' | 'repeated' | 'used';

/** The receipts that were used. All processes of one tool must share one memory, and it must survive their restart. */
export interface UsedJtis {
  /** Notes a use and returns what was before it, in one step: of two at the same moment only one is the first. */
  readonly use: (use: ReceiptUse) => UseOfReceipt | Promise<UseOfReceipt>;
}

/** The memory of this process: for one process alone, and for tools that a restart may let run once more. */
export function createUsedJtis(now: () => number = Date.now): UsedJtis {
  const used = new Map<string, ReceiptUse>();
  let sweepAt = 0;
  return {
    use: (use) => {
      if (now() >= sweepAt) {
        for (const [jti, { keepUntil }] of used) if (keepUntil < now()) used.delete(jti);
        sweepAt = now() + 60_000;
      }
      const before = used.get(use.jti);
      if (before === undefined) {
        used.set(use.jti, use);
        return 'first';
      }
      return before.idempotencyKey !== null && before.idempotencyKey === use.idempotencyKey ? 'repeated' : 'used';
    },
  };
}
