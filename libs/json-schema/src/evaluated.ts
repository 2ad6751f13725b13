import { spend } from './work.js';
import type { Work } from './work.js';

/** The evaluated parts of an object or a list, which `unevaluatedProperties` and `unevaluatedItems` skip. */
export interface Evaluated {
  readonly names: Set<string>;
  readonly items: Set<number>;
  allNames: boolean;
  allItems: boolean;
}

/** Nothing evaluated yet. */
export function nothingEvaluated(): Evaluated {
  return { names: new Set(), items: new Set(), allNames: false, allItems: false };
}

/** Adds what another schema looked at. */
export function addEvaluated(to: Evaluated, from: Evaluated, work: Work): void {
  spend(work, from.names.size + from.items.size);
  for (const name of from.names) to.names.add(name);
  for (const item of from.items) to.items.add(item);
  to.allNames ||= from.allNames;
  to.allItems ||= from.allItems;
}
