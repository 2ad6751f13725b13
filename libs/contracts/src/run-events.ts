import { z } from 'zod';
import { proofShape } from './credentials.js';
import { timeSchema } from './primitives.js';

/**
 * One message cancelled a principal's open calls of a run; that of an admin, the open calls of every principal. Recorded
 * before the calls themselves are cancelled, so that a redelivered message concerns the same calls, and not later ones.
 */
export const runCancelledSchema = z.strictObject({
  runId: z.string(),
  /** The open calls that `cancelledBy` may cancel. Each call records whether it was cancelled. */
  callIds: z.array(z.string()),
  /** The list continues in the next event of the stream. */
  more: z.literal(true).exactOptional(),
  reason: z.string(),
  cancelledBy: z.string(),
  cancelledAt: timeSchema,
  ...proofShape,
});

/** Events of one stream per such message, `runCancellation-<commandId>`. */
export interface RunEvent {
  readonly type: 'RunCancelled';
  readonly data: z.infer<typeof runCancelledSchema>;
}

/** The stream of one cancellation of a run. */
export function runCancellationStream(commandId: string): string {
  return `${prefix}${commandId}`;
}

const prefix = 'runCancellation-';

/** Returns whether a stream is the cancellation of a run. */
export function isRunCancellationStream(stream: string): boolean {
  return stream.startsWith(prefix);
}
