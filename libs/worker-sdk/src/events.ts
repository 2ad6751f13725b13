import { backoffMs, type EventView } from '@countersign/contracts';
import { linkedController, reasonOf, sleep, type WorkerClock } from './clock.js';
import { CountersignError, errorOfAnswer, messageOf } from './errors.js';
import { retryAfterMs } from './retry-after.js';
import { createSseParser, type SseMessage } from './sse.js';
import { unreadable, type Transport } from './transport.js';

/** Which events to read, and from where. */
export interface EventsOptions {
  /** A position; `now` for live events alone; without it from the first event. */
  readonly after?: number | 'now' | undefined;
  readonly runId?: string | undefined;
  readonly callId?: string | undefined;
  /** Event types, such as `ApprovalResponded`. */
  readonly types?: readonly string[] | undefined;
  /** Ends the iteration, without an error. */
  readonly signal?: AbortSignal | undefined;
  /** Called each time the server has begun to send. After a break without any event seen, `now` means a later now. */
  readonly onOpen?: (() => void) | undefined;
}

/** A silent connection may be a dead one. The server sends a sign of life more often than this. */
const silenceMsMax = 45_000;
const retryAfterMsMax = 60_000;
const reconnectBackoff = { firstMs: 100, maxMs: 10_000 } as const;

/**
 * The recorded events, in order, for ever: a broken connection is opened again after a growing wait, from the last
 * event seen. Throws on a refusal (`unauthenticated`, `forbidden`, `invalid-request`).
 */
export async function* readEvents(
  transport: Transport,
  token: string,
  options: EventsOptions,
): AsyncGenerator<EventView, void> {
  const done = linkedController(options.signal);
  let lastEventId: string | undefined;
  let failures = 0;
  const server = { waitMs: 0 };
  try {
    for (;;) {
      server.waitMs = 0;
      const startedAt = transport.clock.monotonic();
      try {
        for await (const message of readConnection(transport, {
          token,
          options,
          lastEventId,
          signal: done.signal,
          server,
        })) {
          // The server names its place first: should the connection break before any event, none is missed.
          lastEventId = message.id ?? lastEventId;
          yield* eventsOf(message);
        }
      } catch (error) {
        if (isFinal(error)) throw error;
      }
      // One that held for a while was a good connection; one that breaks at once is a server in trouble.
      failures = transport.clock.monotonic() - startedAt > reconnectBackoff.maxMs ? 1 : failures + 1;
      const delayMs = Math.max(server.waitMs, backoffMs(failures, reconnectBackoff, transport.random));
      await sleep(transport.clock, delayMs, done.signal);
    }
  } catch (error) {
    if (options.signal?.aborted !== true) throw error;
  } finally {
    done.abort(new Error('no longer read'));
    done.release();
  }
}

function eventsOf({ data }: SseMessage): readonly EventView[] {
  return data === undefined ? [] : [JSON.parse(data) as EventView];
}

/** One connection to open. */
interface Opening {
  readonly token: string;
  readonly options: EventsOptions;
  readonly lastEventId: string | undefined;
  readonly signal: AbortSignal;
  /** Told how long the server asks to wait before the next attempt. */
  readonly server: { waitMs: number };
}

async function* readConnection(
  transport: Transport,
  { token, options, lastEventId, signal, server }: Opening,
): AsyncGenerator<SseMessage, void> {
  const connection = linkedController(signal);
  const watchdog = createWatchdog(transport.clock, silenceMsMax, () => {
    connection.abort(new Error('the event stream went silent'));
  });
  try {
    const headers: Record<string, string> = lastEventId === undefined ? {} : { 'last-event-id': lastEventId };
    const response = await transport.open({ path: pathOf(options), token, headers, signal: connection.signal });
    server.waitMs = retryAfterMs(response.headers.get('retry-after'), Date.now(), retryAfterMsMax) ?? 0;
    const body = await bodyOf(response);
    options.onOpen?.();
    const parse = createSseParser();
    const decoder = new TextDecoder();
    for await (const chunk of body) {
      watchdog.feed();
      yield* parse(decoder.decode(chunk, { stream: true }));
    }
  } finally {
    watchdog.stop();
    // Also when the reader stopped reading: the connection must not stay open.
    connection.abort(new Error('no longer read'));
    connection.release();
  }
}

async function bodyOf(response: Response): Promise<AsyncIterable<Uint8Array>> {
  if (!response.ok) throw errorOfAnswer(response.status, await readJson(response));
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
  if (!isStream || response.body === null) throw unreadable(response.status);
  return response.body;
}

async function readJson(response: Response): Promise<unknown> {
  try {
    return await response.json();
  } catch (error) {
    return messageOf(error);
  }
}

/** What another attempt would be answered with as well. */
function isFinal(error: unknown): boolean {
  if (error instanceof SyntaxError) return true;
  if (!(error instanceof CountersignError) || error.status === null) return false;
  return error.status < 500 && error.status !== 429;
}

function pathOf(options: EventsOptions): string {
  const query = new URLSearchParams();
  if (options.after !== undefined) query.set('after', String(options.after));
  if (options.runId !== undefined) query.set('runId', options.runId);
  if (options.callId !== undefined) query.set('callId', options.callId);
  if (options.types !== undefined) query.set('types', options.types.join(','));
  const text = query.toString();
  return text === '' ? '/v1/events' : `/v1/events?${text}`;
}

interface Watchdog {
  readonly feed: () => void;
  readonly stop: () => void;
}

function createWatchdog(clock: WorkerClock, afterMs: number, fn: () => void): Watchdog {
  let cancel = clock.setTimer(afterMs, fn);
  return {
    feed: () => {
      cancel();
      cancel = clock.setTimer(afterMs, fn);
    },
    stop: () => {
      cancel();
    },
  };
}

/** Rejects with the signal's reason once it aborts. */
export function rejectOnAbort(signal: AbortSignal): { readonly promise: Promise<never>; readonly release: () => void } {
  let onAbort: () => void = () => undefined;
  const promise = new Promise<never>((_, reject) => {
    onAbort = (): void => {
      reject(reasonOf(signal));
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
  // Often nobody looks any more when it rejects.
  promise.catch(() => undefined);
  return {
    promise,
    release: () => {
      signal.removeEventListener('abort', onAbort);
    },
  };
}
