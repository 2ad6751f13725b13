/**
 * The limits of an expression. The first four are checked when it is read, the others while it is evaluated. One unit
 * of cost is about one step of a loop, one function call, or 16 characters of text.
 */
export const limits = {
  characters: 4096,
  nodes: 1000,
  depth: 40,
  /** Loops inside loops: `all`, `exists`, `exists_one`, `map` and `filter`. */
  loops: 3,
  cost: 20_000,
  /** The longest text that an expression may build, in characters. */
  text: 1 << 20,
  /** The longest list that an expression may build. */
  items: 20_000,
  /** The instructions of one pattern of `matches`. */
  program: 500,
  /** How many compiled patterns are kept, about 25 kB each. */
  patterns: 200,
} as const;
