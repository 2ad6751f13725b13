import type { LogEvent, RecordedEvent } from '@countersign/contracts';
import { isReadable } from '@countersign/contracts';

const listedMax = 1000;

/** The events of a tenant that a report leaves out, because they cannot be read. */
export interface LeftOut {
  /** Returns whether an event is of the tenant and can be read. */
  readonly admit: (event: LogEvent) => event is RecordedEvent;
  /** The positions of the first 1,000 that were left out; empty when there are none. */
  readonly found: () => { readonly unreadable?: number[] };
}

/** Sorts out what a report of a tenant can use. An event whose tenant cannot be read may be of any. */
export function createLeftOut(tenant: string): LeftOut {
  const unreadable: number[] = [];
  return {
    admit: (event): event is RecordedEvent => {
      const { metadata, position } = event;
      if (metadata.tenant !== tenant && metadata.tenant !== null) return false;
      if (isReadable(event)) return true;
      if (unreadable.length < listedMax) unreadable.push(position);
      return false;
    },
    found: () => (unreadable.length === 0 ? {} : { unreadable }),
  };
}
