import type { EventData, ToolCallEvent, ToolCallEventType } from '@countersign/contracts';
import { refused } from '../result.js';

/** The refusal of a command under the idempotency key, or the message id, of another one. */
export const reusedKey = refused(
  'idempotency-key-reused',
  'The idempotency key, or the id of the message, was used for another command, which is recorded. This one is not: use a new key.',
);

/**
 * Returns whether the events that a command recorded on a call say what is asked now. Types without a comparison follow from the
 * state, and not from the body.
 */
export function saysTheSame(
  recorded: readonly ToolCallEvent[],
  asked: { readonly [Type in ToolCallEventType]?: (data: EventData<Type>) => boolean },
): boolean {
  return recorded.every(({ type, data }) => {
    const isSame = asked[type] as ((given: unknown) => boolean) | undefined;
    return isSame === undefined || isSame(data);
  });
}
