import { isSameHash } from '@countersign/audit';
import type { Hash } from '@countersign/audit';
import type { LogEvent } from '@countersign/contracts';
import type { EventStore } from '@countersign/event-store';
import { sleep } from '@countersign/runtime';
import type { Clock } from '@countersign/runtime';
import type { Finding } from './signed-epochs.js';
import { treeEventOf } from './stored-events.js';
import type { TenantTree } from './tenant-tree.js';

/** What a comparison needs. */
export interface Comparison {
  readonly store: Pick<EventStore, 'readAll'>;
  /** The tree of a tenant, and the number of its leaves that are compared. */
  readonly treeOf: (tenant: string) => { readonly tree: TenantTree; readonly size: number } | undefined;
  /** The position of the last event that is compared. */
  readonly to: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

const pageSize = 200;
/** The pause in ms after each ms of work. */
const restFactor = 9;

/**
 * Compares the log from its first event with trees that were built before, with at most a tenth of the process's time.
 * Attack: the log is rewritten while the process is stopped. Returns what differs first.
 */
export async function compareWithTrees({ store, treeOf, to, clock, signal }: Comparison): Promise<Finding | undefined> {
  const counts = new Map<string, number>();
  const differs = (event: LogEvent): Finding | undefined => {
    const found = treeEventOf(event);
    if (found === undefined) return undefined;
    const index = counts.get(found.tenant) ?? 0;
    counts.set(found.tenant, index + 1);
    if (isLeafOf(treeOf(found.tenant), index, found.leaf)) return undefined;
    const { tenant } = found;
    const why = `event ${String(index)} of tenant "${tenant}" (${event.stream}, revision ${String(event.revision)}) is not the one that its tree has`;
    return { tenant, why };
  };
  let position = 0;
  while (position < to && !signal.aborted) {
    const startMs = clock.monotonic();
    const page = await store.readAll(position, pageSize);
    const last = page.at(-1);
    if (last === undefined) return undefined;
    for (const event of page.filter((each) => each.position <= to)) {
      const found = differs(event);
      if (found !== undefined) return found;
    }
    position = last.position;
    await sleep(clock, (clock.monotonic() - startMs) * restFactor, signal);
  }
  return undefined;
}

function isLeafOf(of: ReturnType<Comparison['treeOf']>, index: number, leaf: Hash): boolean {
  return of !== undefined && index < of.size && isSameHash(of.tree.leaf(index), leaf);
}
