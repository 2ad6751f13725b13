import type { KnownApprover } from '../ports.js';

/** The groups of a person without repeats; of a person of a front end only those that it may give. */
export function boundedGroups(groups: Iterable<string>, within: KnownApprover['within']): readonly string[] {
  const all = [...new Set(groups)];
  return within === undefined ? all : all.filter((group) => within.includes(group));
}
