import { storedAfter } from '../legality/times.js';

/** What one source said from a time on. */
export interface Said<What> {
  readonly what: What;
  /** When it said something else; null: it still says it. */
  readonly until: string | null;
}

/** What the record says about a key, by the process that said it. */
export interface Timeline<What> {
  /** A process says something from a time on, instead of what it said before; undefined: it says nothing any more. */
  readonly put: (key: string, source: string, what: What | undefined, at: string) => void;
  /**
   * All that was in force about a key at a time; null: at any time until now. A request that began before a change may be
   * decided after it.
   */
  readonly around: (key: string, at: string | null) => readonly Said<What>[];
}

/** No request is decided longer than this after its person was looked up. */
export const graceMs = 900_000;

/** Nothing was said yet. It remembers what is in force, what ended a short time ago, and the last that ended. */
export function createTimeline<What>(): Timeline<What> {
  const byKey = new Map<string, Map<string, readonly Said<What>[]>>();
  return {
    put: (key, source, what, at) => {
      const bySource = byKey.get(key) ?? new Map<string, readonly Said<What>[]>();
      byKey.set(key, bySource);
      const ended = (bySource.get(source) ?? []).map((one) => (one.until === null ? { ...one, until: at } : one));
      const kept = ended.filter((one, index) => index === ended.length - 1 || isAround(one, at));
      bySource.set(source, what === undefined ? kept : [...kept, { what, until: null }]);
    },
    around: (key, at) => {
      const versions = [...(byKey.get(key)?.values() ?? [])].flat();
      return at === null ? versions : versions.filter((one) => isAround(one, at));
    },
  };
}

function isAround({ until }: Said<unknown>, at: string): boolean {
  return until === null || (storedAfter(until, graceMs) ?? '') > at;
}
