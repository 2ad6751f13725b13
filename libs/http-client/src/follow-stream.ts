import { backoffMs } from '@countersign/contracts/backoff';
import { sleepOrThrow, systemClock, type Clock } from '@countersign/contracts/clock';
import { linkedController } from './linked-controller.js';
import { createSseParser } from './sse.js';

/** The stream to follow. */
export interface FollowOptions {
  /** Opens one connection that begins after the event of that id. Throws when it cannot be opened; `signal` ends it. */
  readonly open: (lastEventId: string | undefined, signal: AbortSignal) => Promise<AsyncIterable<Uint8Array>>;
  /**
   * Called when a connection could not be opened, has broken or has ended (then without an error). Returns the minimum
   * wait, in ms; throws to give up.
   */
  readonly onLost: (error: unknown) => number;
  /** Ends the iteration, without an error. */
  readonly signal?: AbortSignal | undefined;
  readonly clock?: Clock | undefined;
  /** Chance for the jitter of waits, a number in [0, 1). */
  readonly random?: (() => number) | undefined;
}

/** A silent connection may be dead. The server sends heartbeats more often than this. */
const silenceMsMax = 45_000;
const backoff = { firstMs: 100, maxMs: 5000 } as const;

/**
 * Yields the data of an event stream in order, without gaps or duplicates, without end. A broken connection is reopened
 * with backoff, after the last event id.
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
    // A connection that held for a while resets the backoff; one that breaks at once means a server in trouble.
    failures = heldMs > backoff.maxMs ? 1 : failures + 1;
    await sleepOrThrow(clock, Math.max(waitMs, backoffMs(failures, backoff, random)), signal);
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
    // Also when the reader stopped early, so that the connection does not stay open.
    connection.abort(new Error('no longer read'));
    connection.release();
  }
}
