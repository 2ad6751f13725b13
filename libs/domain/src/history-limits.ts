/** The limits of one history. Attack: an agent or an approver lets it grow, and every read of it stalls the others. */
export const historyLimits = {
  /** Of one call. */
  roundsMax: 16,
  /** Of one approval. */
  proposalsMax: 64,
  responsesMax: 256,
  revealsMax: 256,
  /** Everything that an approval shows, as JSON: its arguments, its responses and their words. */
  bytesMax: 1024 * 1024,
} as const;
