import type { ReceiptClaims } from './claims.js';
import { createUsedJtis } from './used-jtis.js';
import type { UsedJtis } from './used-jtis.js';
import { verifyReceipt } from './verify-receipt.js';
import type { RefusalCode, TrustedIssuer } from './verify-receipt.js';

/** A call as it arrived, with the receipt that came with it. */
export interface ReceivedCall {
  readonly receipt: string | null | undefined;
  readonly toolName: string;
  readonly arguments: unknown;
  readonly idempotencyKey?: string | null | undefined;
}

/** `repeated`: the answer is that of the first request. */
export type GuardedAnswer<T> =
  | { readonly status: 'ran' | 'repeated'; readonly answer: T }
  | { readonly status: 'refused'; readonly code: RefusalCode; readonly detail: string };

/** Runs tools with valid receipts alone, each claim once. */
export interface ReceiptGuard<T> {
  /** Rejects with the error of the tool, for a repeated request too. */
  readonly run: (call: ReceivedCall, tool: (claims: ReceiptClaims) => T | Promise<T>) => Promise<GuardedAnswer<T>>;
}

/** The options of a guard. */
export interface GuardOptions extends TrustedIssuer {
  /** Default: the memory of this process. */
  readonly usedJtis?: UsedJtis | undefined;
}

/** A guard that keeps the first answers in this process, as long as their receipts must be remembered. */
export function createReceiptGuard<T>(options: GuardOptions): ReceiptGuard<T> {
  const { now = Date.now, claimAgeMsMax = 24 * 60 * 60_000, toleranceMs = 0 } = options;
  const usedJtis = options.usedJtis ?? createUsedJtis(now);
  const answers = new Map<string, { readonly answer: Promise<T>; readonly keepUntil: number }>();
  const forgetOld = (): void => {
    for (const [jti, { keepUntil }] of answers) {
      if (keepUntil >= now()) break;
      answers.delete(jti);
    }
  };
  return {
    run: async ({ receipt, ...call }, tool) => {
      const verdict = await verifyReceipt(receipt, { ...options, ...call, usedJtis });
      if (verdict.status === 'refused') return verdict;
      const { claims } = verdict;
      if (verdict.status === 'repeated') {
        const first = answers.get(claims.jti);
        if (first !== undefined) return { status: 'repeated', answer: await first.answer };
        return { status: 'refused', code: 'already-used', detail: 'this call ran, and its answer is not known here' };
      }
      forgetOld();
      const answer = (async () => tool(claims))();
      // The caller below gets the error.
      answer.catch(() => undefined);
      answers.set(claims.jti, { answer, keepUntil: claims.iat * 1000 + claimAgeMsMax + toleranceMs });
      return { status: 'ran', answer: await answer };
    },
  };
}
