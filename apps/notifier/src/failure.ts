import type { SendResult } from '@countersign/channels';
import type { PlannedMessage } from './planned-message.js';

/** When a failed message is tried again. */
export interface FailureTimes {
  /** The least number of tries that its pause is counted by. */
  readonly nthMin: number;
  /** The pause of a message that keeps its turn. Without it, the message steps aside. */
  readonly inTurnMs: number | undefined;
}

/** The other side said how long to wait: such a channel keeps its messages in order. */
export function hasNamedWait(result: SendResult): boolean {
  return result.status === 'failed' && result.retryAfterMs !== undefined;
}

/** The log has its failure already. */
export function hasFailedBefore({ job, before }: PlannedMessage): boolean {
  return job.isRetry === true && before?.status === 'failed';
}

/** One of several combined messages may be what the other side refuses. A digest is one message. */
export function isRefusedTogether(together: readonly PlannedMessage[], result: SendResult): boolean {
  const isDigest = together[0]?.job.key.kind === 'digest';
  return result.status === 'refused' && result.about === 'message' && together.length > 1 && !isDigest;
}

/** How often a message has failed in its turn, without the failures for which the other side named a wait. */
export interface Failure {
  readonly tries: number;
  readonly isFirst: boolean;
}
