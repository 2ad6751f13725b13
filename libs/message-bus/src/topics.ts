/** The topics of one installation. */
export interface TopicNames {
  /** Workers → ledger. */
  readonly requests: string;
  /** Every recorded event → everybody. */
  readonly events: string;
  readonly deadLetters: string;
  /** Signed checkpoints of the log → auditors. */
  readonly checkpoints: string;
}

/** The names of the topics under a prefix (`COUNTERSIGN_TOPIC_PREFIX`). */
export function topicNames(prefix = 'countersign'): TopicNames {
  return {
    ...{ requests: `${prefix}.requests.v1`, events: `${prefix}.events.v1` },
    ...{ deadLetters: `${prefix}.dead-letters.v1`, checkpoints: `${prefix}.checkpoints.v1` },
  };
}
