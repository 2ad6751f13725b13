import { z } from 'zod';
import { timeSchema } from './primitives.js';

/**
 * All open calls of a run were called off by one message. Recorded before the calls themselves are cancelled: a message
 * that comes again is about the same calls, and not about those requested since.
 */
export const runCancelledSchema = z.strictObject({
  runId: z.string(),
  /** The calls that were open. Each says by itself whether it could still be cancelled. */
  callIds: z.array(z.string()),
  /** There are more of them than one event holds: the next event of the stream has the next ones. */
  more: z.literal(true).exactOptional(),
  reason: z.string(),
  cancelledBy: z.string(),
  cancelledAt: timeSchema,
});

/** Events of a stream of its own for each such message, `runCancellation-<commandId>`. */
export interface RunEvent {
  readonly type: 'RunCancelled';
  readonly data: z.infer<typeof runCancelledSchema>;
}

/** The stream of one cancellation of a run. */
export function runCancellationStream(commandId: string): string {
  return `runCancellation-${commandId}`;
}
