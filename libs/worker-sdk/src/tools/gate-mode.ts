/** The calls that a gate itself puts before a person. The policy of the server can be stricter. */
export const gateModes = ['writes', 'all', 'none'] as const;
export type GateMode = (typeof gateModes)[number];

/** Returns whether a gate asks a person. `writes`: for every tool that is not known to be read-only. */
export function needsPerson(mode: GateMode, isReadOnly: boolean): boolean {
  return mode === 'all' || (mode === 'writes' && !isReadOnly);
}
