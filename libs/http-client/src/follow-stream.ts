import { backoffMs } from '@countersign/contracts/backoff';
import { linkedController, sleep, systemClock, type Clock } from './clock.js';
import { createSseParser } from './sse.js';

/** What is followed. */
export interface FollowOptions {
  /** Opens one connection, which begins after the event of that id. Throws when it cannot be opened; `signal` ends it. */
  readonly open: (lastEventId: string | undefined, signal: AbortSignal) => Promise<AsyncIterable<Uint8Array>>;
  /**
   * Told that a connection could not be opened, has broken or has ended (then there is no error). Answers how long to wait
   * at least, in ms; throws to give up.
   */
  readonly onLost: (error: unknown) => number;
  /** Ends the iteration, without an error. */
  readonly signal?: AbortSignal | undefined;
  readonly clock?: Clock | undefined;
  /** Chance for the jitter of waits, a number in [0, 1). */
  readonly random?: (() => number) | undefined;
}

/** A silent connection may be a dead one. The server sends a sign of life more often than this. */
const silenceMsMax = 45_000;
const backoff = { firstMs: 100, maxMs: 5000 } as const;

/**
 * The data of an event stream, in order, for ever, without gap or repeat: a broken connection is opened again after a
 * growing wait, from the last place that the server named.
 */
export async function* followStream(options: FollowOptions): AsyncGenerator<string, void> {
  const { clock = systemClock } = options;
  const done = linkedController(options.signal);
  const pause = createPause(options, clock, done.signal);
  const place: Place = { lastEventId: undefined };
  try {
    while (!done.signal.aborted) {
      const startedAt = clock.monotonic();
      let cause: unknown;
      try {
        yield* readConnection(options.open, place, clock, done.signal);
      } catch (error) {
        cause = error;
      }
      await pause(cause, clock.monotonic() - startedAt);
    }
  } catch (error) {
    if (options.signal?.aborted !== true) throw error;
  } finally {
    done.abort(new Error('no longer read'));
    done.release();
  }
}

/** Waits after a connection that ended: the longer, the more of them in a row did not hold. */
function createPause({ onLost, random = Math.random }: FollowOptions, clock: Clock, signal: AbortSignal) {
  let failures = 0;
  return async (cause: unknown, heldMs: number): Promise<void> => {
    if (signal.aborted) return;
    const waitMs = onLost(cause);
    // One that held for a while was a good connection; one that breaks at once is a server in trouble.
    failures = heldMs > backoff.maxMs ? 1 : failures + 1;
    await sleep(clock, Math.max(waitMs, backoffMs(failures, backoff, random)), signal);
  };
}

/** The last place that the server named. */
interface Place {
  lastEventId: string | undefined;
}

async function* readConnection(
  open: FollowOptions['open'],
  place: Place,
  clock: Clock,
  signal: AbortSignal,
): AsyncGenerator<string, void> {
  const connection = linkedController(signal);
  const expectSign = (): (() => void) =>
    clock.setTimer(silenceMsMax, () => {
      connection.abort(new Error('the event stream went silent'));
    });
  let cancelTimer = expectSign();
  try {
    const body = await open(place.lastEventId, connection.signal);
    const parse = createSseParser();
    const decoder = new TextDecoder();
    for await (const chunk of body) {
      cancelTimer();
      cancelTimer = expectSign();
      for (const { id, data } of parse(decoder.decode(chunk, { stream: true }))) {
        // The server names its place first: should the connection break before any event, none is missed.
        place.lastEventId = id ?? place.lastEventId;
        if (data !== undefined) yield data;
      }
    }
  } finally {
    cancelTimer();
    // Also when the reader stopped reading: the connection must not stay open.
    connection.abort(new Error('no longer read'));
    connection.release();
  }
}
