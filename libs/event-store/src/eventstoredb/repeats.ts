import type { NewEvent } from '@countersign/contracts';
import { createLruMap } from '@countersign/runtime';

/** This process's appends in flight and uncertain ones. */
export interface Repeats<Result> {
  /**
   * Runs `work`, unless the same append (stream, revision, ids) is in flight: then returns that one's result.
   * `wasTried` is true after an earlier try without a certain outcome.
   */
  readonly run: (
    stream: string,
    expectedRevision: number,
    events: readonly NewEvent[],
    work: (wasTried: boolean) => Promise<Result>,
  ) => Promise<Result>;
}

const remembered = 10_000;

/**
 * The server drops a duplicate of an append in flight and lets its caller wait for seconds, so a second caller in this
 * process waits for the first one's result instead.
 * @param isCertain whether the outcome is known.
 */
export function createRepeats<Result>(isCertain: (result: Result) => boolean): Repeats<Result> {
  const onTheirWay = new Map<string, Promise<Result>>();
  const tried = createLruMap<true>(remembered);
  const noted = async (key: string, work: (wasTried: boolean) => Promise<Result>): Promise<Result> => {
    const wasTried = tried.get(key) === true;
    tried.set(key, true);
    const result = await work(wasTried);
    if (isCertain(result)) tried.delete(key);
    return result;
  };
  return {
    run: async (stream, expectedRevision, events, work) => {
      const key = [stream, expectedRevision, ...events.map(({ eventId }) => eventId)].join('\n');
      const first = onTheirWay.get(key);
      if (first !== undefined) return first;
      const mine = noted(key, work);
      onTheirWay.set(key, mine);
      try {
        return await mine;
      } finally {
        onTheirWay.delete(key);
      }
    },
  };
}
