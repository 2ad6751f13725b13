import { matchesGlob } from '@countersign/contracts';
import type { Rule } from './rule.js';

/** How many tool names are remembered. Agents choose them, so there may be any number. */
const namesMax = 200;

/** The rules whose tool globs match a name, in their order: the others cost nothing when a call is judged. */
export function createCandidates(rules: readonly Rule[]): (toolName: string) => readonly Rule[] {
  const known = new Map<string, readonly Rule[]>();
  return (toolName) => {
    const found = known.get(toolName);
    if (found !== undefined) return found;
    const matching = rules.filter(({ tools }) => tools === null || tools.some((glob) => matchesGlob(glob, toolName)));
    if (known.size >= namesMax) known.delete(known.keys().next().value ?? '');
    known.set(toolName, matching);
    return matching;
  };
}
