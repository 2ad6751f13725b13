import type { CallRow } from '../call-row.js';

/** A row in memory, with what the file has of it. */
export interface Entry {
  row: CallRow;
  /** The row as stored in the file; null when the call is not there yet. */
  stored: CallRow | null;
  /** When the last folded event was recorded; empty when none was since the row was read. */
  lastEventAt: string;
  /** The length of the request and of the rest, as JSON. */
  requestBytes: number;
  progressBytes: number;
}

/** The rows used last, within bounds, so that a call's next event finds it in memory. */
export interface RecentRows {
  readonly get: (callId: string) => Entry | undefined;
  readonly put: (callId: string, entry: Entry) => void;
  /** Returns a row and removes it from the cache. */
  readonly take: (callId: string) => Entry | undefined;
}

/** Least recently used out first; `countMax` rows and `bytesMax` bytes of JSON. */
export function createRecentRows(countMax: number, bytesMax: number): RecentRows {
  // A Map keeps the insertion order, so the first key is the least recently used one.
  const entries = new Map<string, Entry>();
  let bytes = 0;
  const take = (callId: string): Entry | undefined => {
    const entry = entries.get(callId);
    if (entry === undefined) return undefined;
    bytes -= entry.requestBytes + entry.progressBytes;
    entries.delete(callId);
    return entry;
  };
  return {
    get: (callId) => {
      const entry = entries.get(callId);
      if (entry === undefined) return undefined;
      entries.delete(callId);
      entries.set(callId, entry);
      return entry;
    },
    put: (callId, entry) => {
      take(callId);
      entries.set(callId, entry);
      bytes += entry.requestBytes + entry.progressBytes;
      for (const oldest of entries.keys()) {
        if (entries.size <= countMax && bytes <= bytesMax) break;
        take(oldest);
      }
    },
    take,
  };
}
