import { entryOf, leafHash, tenantOf } from '@countersign/audit';
import type { EntryEvent, Hash } from '@countersign/audit';
import { isReadable } from '@countersign/contracts';
import type { LogEvent } from '@countersign/contracts';

/** An event of the log as its tenant's tree has it. */
export interface TreeEvent {
  readonly tenant: string;
  readonly leaf: Hash;
}

/** The event in the tree; undefined for one that belongs to no tenant. */
export function treeEventOf(event: LogEvent): TreeEvent | undefined {
  const stored = storedOf(event);
  const tenant = tenantOf(stored);
  return tenant === undefined ? undefined : { tenant, leaf: leafHash(entryOf(stored)) };
}

/** The leaf hash of the log's first event, by which an installation is told from others. */
export function firstLeafOf(event: LogEvent): Hash {
  return leafHash(entryOf(storedOf(event)));
}

/** The event with the members that the store has. One that this version cannot read is in the tree all the same. */
export function storedOf(event: LogEvent): EntryEvent {
  if (isReadable(event)) return event;
  const { metadata, data } = event.stored ?? { metadata: undefined, data: undefined };
  return { ...event, metadata, data };
}
