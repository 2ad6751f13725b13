import { sideBySide } from '@countersign/runtime';
import type { Result } from '../result.js';

/** The number of calls in memory at once: a run may have thousands, each with large arguments. */
const atOnce = 32;

/**
 * Cancels calls, those that wait for their turn before those that they wait for, and the last of a queue first: otherwise the
 * cancellation of one would give the next one its turn. Returns the outcomes in the order of `callIds`.
 */
export async function cancelWaitingFirst(
  callIds: readonly string[],
  open: readonly { readonly callId: string; readonly waitsForTurn?: true }[],
  cancel: (callId: string) => Promise<Result<unknown>>,
): Promise<readonly { readonly callId: string; readonly outcome: Result<unknown> }[]> {
  const waiting = new Set(open.flatMap(({ callId, waitsForTurn }) => (waitsForTurn === true ? [callId] : [])));
  const cancelAll = (some: readonly string[]) =>
    sideBySide(some, atOnce, async (callId) => ({ callId, outcome: await cancel(callId) }));
  const waited = await cancelAll(callIds.filter((callId) => waiting.has(callId)).toReversed());
  const others = await cancelAll(callIds.filter((callId) => !waiting.has(callId)));
  const places = new Map(callIds.map((callId, index) => [callId, index]));
  const placeOf = ({ callId }: { readonly callId: string }): number => places.get(callId) ?? 0;
  return [...waited, ...others].toSorted((one, other) => placeOf(one) - placeOf(other));
}
