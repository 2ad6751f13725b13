/** The limits of an untrusted schema. Beyond them it, or a part of it, is not checked, and a note says so. */
export const schemaLimits = {
  bytesMax: 256 * 1024,
  nodesMax: 8000,
  levelsMax: 64,
  patternCharsMax: 2000,
  /** Instructions of one compiled pattern; its first match takes quadratic time in them. */
  programMax: 1500,
  /** Instructions of all patterns of one schema. */
  programsMax: 10_000,
  errorsMax: 20,
  /** The last one counts the others. */
  notesMax: 20,
} as const;
