/**
 * The event store does not answer this question, and no retry changes that: it names a position at which the log has no
 * event, as another log, or one that was restored or scavenged, may have it. The store itself is well.
 */
export class QuestionRefusedError extends Error {
  override readonly name = 'QuestionRefusedError';
}
