/** The limits of an untrusted schema. A larger one is refused. */
export const schemaLimits = {
  bytesMax: 64 * 1024,
  nodesMax: 2000,
  levelsMax: 32,
  patternCharsMax: 2000,
  /** Instructions of one compiled pattern; its first match takes quadratic time in them. */
  programMax: 500,
  /** Instructions of all patterns of one schema. */
  programsMax: 5000,
  errorsMax: 20,
} as const;
