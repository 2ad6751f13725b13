import { encodeTenant } from '@countersign/audit';
import { noStream, recordStreamPrefix } from '@countersign/event-store';
import type { Kept, KeptRecord, RecordStreams } from '@countersign/event-store';
import type { Ids } from '@countersign/runtime';
import type { KeptTimestamp } from '../sqlite/timestamp-rows.js';

/** The time stamps that the notaries of a cluster got, in the store: each finds those of the others. */
export interface SharedTimestamps {
  /** The time stamps after a revision, and the revision of the last one. Those that cannot be read are left out. */
  readonly after: (tenant: string, revision: number) => Promise<FoundTimestamps>;
  /** Keeps a time stamp at the revision after this one. */
  readonly keep: (tenant: string, revision: number, stamp: KeptTimestamp) => Promise<Kept>;
}

/** What the store has. */
export interface FoundTimestamps {
  readonly revision: number;
  readonly stamps: readonly KeptTimestamp[];
}

const pageFirst = 8;

/** Time stamps in streams of records, one stream for each tenant. */
export function createSharedTimestamps(records: RecordStreams, ids: Pick<Ids, 'uuid'>): SharedTimestamps {
  return {
    after: async (tenant, revision) => {
      for (let count = pageFirst; ; count *= 4) {
        const found = await records.newest(streamOf(tenant), count);
        const reaches = found.length < count || (found.at(-1)?.revision ?? noStream) <= revision + 1;
        if (!reaches) continue;
        const later = found.filter((one) => one.revision > revision).toReversed();
        return { revision: found[0]?.revision ?? noStream, stamps: later.flatMap(readStamp) };
      }
    },
    keep: (tenant, revision, { epoch, size, text, reply, time }) => {
      const data = { epoch, size, text, time, reply: Buffer.from(reply).toString('base64') };
      return records.keep(streamOf(tenant), revision, { id: ids.uuid(), type: 'CheckpointStamped', data });
    },
  };
}

function streamOf(tenant: string): string {
  return `${recordStreamPrefix}timestamps-of-${encodeTenant(tenant)}`;
}

function readStamp({ data }: KeptRecord): readonly KeptTimestamp[] {
  const { epoch, size, text, time, reply } = data;
  const isWhole = Number.isSafeInteger(epoch) && Number.isSafeInteger(size);
  if (!isWhole || typeof text !== 'string' || typeof time !== 'string' || typeof reply !== 'string') return [];
  return [{ epoch: Number(epoch), size: Number(size), text, time, reply: Buffer.from(reply, 'base64') }];
}
