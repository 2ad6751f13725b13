/** Throws when an invariant is broken: a mistake in a program, never a "no". */
export function assert(holds: boolean, invariant: string): asserts holds {
  if (!holds) throw new Error(`Broken invariant: ${invariant}`);
}
