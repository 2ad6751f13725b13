import { spend } from './work.js';
import type { Work } from './work.js';

/** What of an object or a list was looked at: what `unevaluatedProperties` and `unevaluatedItems` leave alone. */
export interface Evaluated {
  readonly names: Set<string>;
  readonly items: Set<number>;
  allNames: boolean;
  allItems: boolean;
}

/** Nothing looked at yet. */
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
