import type { StoredEvent } from '@countersign/contracts';
import type { LogSource } from './log-source.js';

/** An event that is not what was recorded, or a place of the log where events are missing. */
export interface Unsound {
  /** Where the place is in the log; for several missing events the last of them. */
  readonly position: number;
  readonly stream: string | null;
  readonly revision: number | null;
  readonly eventId: string | null;
  readonly why: string;
}

/** Where what was found goes. */
export interface SalvageTarget {
  readonly sound: (event: StoredEvent) => Promise<void>;
  readonly unsound: (one: Unsound) => Promise<void>;
}

/** The result of a salvage. */
export interface Salvaged {
  readonly sound: number;
  readonly unsound: number;
  /** The streams that lack an event, or have one that is not what was recorded. */
  readonly streams: readonly string[];
}

/**
 * Takes apart a damaged log: the events that are what was recorded, and all else. A stream that has lost events in its middle
 * is found by its revisions; of one that has lost only its last events nothing is left to see.
 */
export async function salvage(
  source: Pick<LogSource, 'events'>,
  target: SalvageTarget,
  onProgress: (sound: number, done: number) => boolean,
): Promise<Salvaged | undefined> {
  const next = new Map<string, number>();
  const touched = new Set<string>();
  let [sound, unsound] = [0, 0];
  const note = async (one: Unsound): Promise<void> => {
    unsound += 1;
    if (one.stream !== null) touched.add(one.stream);
    await target.unsound(one);
  };
  for await (const { stored, damage, done } of source.events()) {
    if (!onProgress(sound, done)) return undefined;
    const why = damage.map(({ detail }) => detail).join('; ');
    if (stored === undefined) {
      await note({ position: done, stream: null, revision: null, eventId: null, why });
      continue;
    }
    const { position, stream, revision, eventId } = stored;
    const place = { position, stream, revision, eventId };
    const expected = next.get(stream) ?? 0;
    next.set(stream, revision + 1);
    if (damage.length > 0) await note({ ...place, why });
    else {
      sound += 1;
      await target.sound(stored);
      if (revision > expected) touched.add(stream);
    }
  }
  return { sound, unsound, streams: [...touched].sort() };
}
