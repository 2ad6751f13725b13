import { parseCheckpoint, parseOrigin, encodeTenant } from '@countersign/audit';
import type { Log } from '@countersign/runtime';
import { noStream } from '@countersign/event-store';
import type { KeptTimestamp, TimestampRows, WantedTimestamps } from '../sqlite/timestamp-rows.js';
import type { SharedTimestamps } from './shared-timestamps.js';
import type { TimestampSettings } from './timestamp-settings.js';

/** The dependencies of the time stamps that are kept. */
export interface KeptTimestampsPorts {
  readonly file: TimestampRows;
  /** Those of other notaries; undefined: there is no other one. */
  readonly shared: SharedTimestamps | undefined;
  /** Null: this notary gets none, and forgets nothing by itself. */
  readonly settings: Pick<TimestampSettings, 'roots'> | null;
  readonly log: Log;
}

/** The time stamps of this notary's file and of the other notaries. */
export interface KeptTimestamps {
  /** @throws as the store */
  readonly read: (tenant: string, wanted: WantedTimestamps) => Promise<readonly KeptTimestamp[]>;
  /** Keeps a time stamp that was verified, unless another notary was first. @throws as the store */
  readonly keep: (tenant: string, stamp: KeptTimestamp) => Promise<void>;
  /** Others may get time stamps from now on. */
  readonly forget: () => void;
}

export function createKeptTimestamps({ file, shared, settings, log }: KeptTimestampsPorts): KeptTimestamps {
  /** The last revision of each tenant in the store, as far as this notary has taken them. */
  const taken = new Map<string, number>();
  const known = new Set<string>();

  /** Attack: a forged record in the store. */
  const isSound = async (tenant: string, stamp: KeptTimestamp): Promise<boolean> => {
    if (!isOfTenant(tenant, stamp)) return false;
    const { text, reply, time } = stamp;
    const { verifyTimestamp } = await import('@countersign/timestamps');
    const verified = verifyTimestamp(reply, { text, roots: settings?.roots ?? undefined });
    return verified.status === 'verified' && verified.time.toISOString() === time;
  };
  const learn = async (tenant: string): Promise<void> => {
    if (shared === undefined || (settings !== null && known.has(tenant))) return;
    const found = await shared.after(tenant, taken.get(tenant) ?? noStream);
    for (const stamp of found.stamps) {
      if (await isSound(tenant, stamp)) file.saveTimestamp(tenant, stamp);
      else log.warn({ tenant, size: stamp.size }, 'a time stamp in the event store does not count');
    }
    taken.set(tenant, found.revision);
    known.add(tenant);
  };
  return {
    read: async (tenant, wanted) => {
      await learn(tenant);
      return file.timestamps(tenant, wanted);
    },
    keep: async (tenant, stamp) => {
      if (shared === undefined) {
        file.saveTimestamp(tenant, stamp);
        return;
      }
      await learn(tenant);
      const revision = taken.get(tenant) ?? noStream;
      // Until it is known whether this is kept, the store is asked.
      known.delete(tenant);
      const { status } = await shared.keep(tenant, revision, stamp);
      if (status === 'conflict') return;
      file.saveTimestamp(tenant, stamp);
      taken.set(tenant, revision + 1);
      known.add(tenant);
    },
    forget: () => known.clear(),
  };
}

/** Whether what is stamped is a checkpoint of this tenant, of the epoch and the size that are said. */
function isOfTenant(tenant: string, { text, epoch, size }: KeptTimestamp): boolean {
  const checkpoint = parseCheckpoint(text);
  const origin = parseOrigin(checkpoint?.origin ?? '');
  return origin?.encodedTenant === encodeTenant(tenant) && origin.epoch === epoch && checkpoint?.size === size;
}
