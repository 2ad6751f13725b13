import type { LogEvent } from '@countersign/contracts';

/** The end of the log in memory, so that those who follow it closely cost no queries. */
export interface RecentEvents {
  /** A committed group; it continues the previous one. */
  readonly add: (events: readonly LogEvent[], bytes: number) => void;
  /** At most `limit` events after a position, or `undefined` when they are not all here. */
  readonly readAll: (after: number, limit: number) => readonly LogEvent[] | undefined;
}

// A few groups of a busy log. A reader that is further behind reads the file; keeping more would burden the garbage
// collector.
const bytesMax = 500_000;
const groupsMax = 256;

interface Group {
  readonly events: readonly LogEvent[];
  readonly first: number;
  readonly bytes: number;
}

/** Keeps the last groups, up to half a megabyte. */
export function createRecentEvents(): RecentEvents {
  let groups: Group[] = [];
  let bytes = 0;
  return {
    add: (events, addedBytes) => {
      groups.push({ events, first: events[0]?.position ?? 0, bytes: addedBytes });
      bytes += addedBytes;
      if (bytes <= bytesMax && groups.length <= groupsMax) return;
      // Half is removed at a time, so that evictions are rare.
      groups = groups.slice(Math.ceil(groups.length / 2));
      bytes = groups.reduce((sum, group) => sum + group.bytes, 0);
    },
    readAll: (after, limit) => {
      let index = groups.findLastIndex((group) => group.first <= after + 1);
      if (index === -1) return undefined;
      const page: LogEvent[] = [];
      for (; index < groups.length && page.length < limit; index += 1) {
        const { events = [], first = 0 } = groups[index] ?? {};
        const skipped = Math.max(0, after + 1 - first);
        page.push(...events.slice(skipped, skipped + limit - page.length));
      }
      return page;
    },
  };
}
