import { setTimeout as delay } from 'node:timers/promises';
import type { EventView } from '@countersign/contracts';
import { type CliError, localError, toCliError } from '../cli-error.js';
import { exitCodes } from '../exit-codes.js';
import type { LedgerClient } from './ledger-client.js';
import type { SseMessage } from './sse-parser.js';
import { createSseParser } from './sse-parser.js';

/** Which events to follow, and from where. */
export interface FollowOptions {
  /** Events after this position; `now` for new ones only. */
  readonly after: number | 'now';
  readonly runId?: string | undefined;
  readonly callId?: string | undefined;
  /** Event types, separated by commas. */
  readonly types?: string | undefined;
  readonly signal: AbortSignal;
  /** The server has answered before: a first connection that fails is only a lost one. */
  readonly isKnown?: boolean;
  /** Told when the connection is lost and, with undefined, when it is there. */
  readonly onConnection?: (lost: CliError | undefined) => void;
}

const retryDelayMsMin = 250;
const retryDelayMsMax = 5000;
/** A connection that died without a word looks like a silent one. After this it is opened anew: nothing is lost by it. */
const silenceMsMax = 60_000;

/**
 * The recorded events as they come, without gap or repeat, until the signal aborts. A connection that breaks is opened
 * again from the last position. A first connection that fails (unless the server is known), and a refusal, are thrown.
 */
export async function* followEvents(client: LedgerClient, options: FollowOptions): AsyncGenerator<EventView, void> {
  const { signal } = options;
  const place = { after: options.after, wasConnected: options.isKnown === true, retryDelayMs: retryDelayMsMin };
  const onOpen = (): void => {
    place.wasConnected = true;
    place.retryDelayMs = retryDelayMsMin;
    options.onConnection?.(undefined);
  };
  while (!isAborted(signal)) {
    try {
      for await (const { id, data } of openOnce(client, { ...options, after: place.after }, onOpen)) {
        // For `now` the server names the place first: should the connection break before any event, nothing is missed.
        if (/^\d+$/.test(id)) place.after = Number(id);
        if (data !== undefined) yield toEvent(data);
      }
    } catch (error) {
      if (isAborted(signal)) return;
      const lost = toCliError(error);
      if (!place.wasConnected || !isPassing(lost)) throw lost;
      options.onConnection?.(lost);
    }
    await delay(place.retryDelayMs, undefined, { signal }).catch(() => undefined);
    place.retryDelayMs = Math.min(place.retryDelayMs * 2, retryDelayMsMax);
  }
}

/** Asked through a function: the compiler would believe that an abort seen as false stays false. */
function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}

function isPassing(error: CliError): boolean {
  const { exitCode } = error;
  return exitCode === exitCodes.unreachable || exitCode === exitCodes.notReady || error.problem.status >= 500;
}

async function* openOnce(
  client: LedgerClient,
  options: FollowOptions,
  onOpen: () => void,
): AsyncGenerator<SseMessage, void> {
  const silence = createSilenceWatch();
  const response = await client.open('/v1/events', {
    query: { after: options.after, runId: options.runId, callId: options.callId, types: options.types },
    headers: { accept: 'text/event-stream' },
    signal: AbortSignal.any([options.signal, silence.signal]),
    timeoutMs: Number.POSITIVE_INFINITY,
  });
  onOpen();
  const parse = createSseParser();
  const decoder = new TextDecoder();
  try {
    silence.heard();
    const body: AsyncIterable<Uint8Array> | readonly Uint8Array[] = response.body ?? [];
    for await (const chunk of body) {
      silence.heard();
      yield* parse(decoder.decode(chunk, { stream: true }));
    }
  } catch {
    // Whatever a socket says when it breaks: the way on is the same.
    throw localError('unreachable', 'connection-lost', `The connection to ${client.url} broke.`);
  } finally {
    silence.stop();
  }
}

/** Aborts when nothing, not even a heartbeat, was heard for too long. */
function createSilenceWatch() {
  const abort = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const stop = (): void => {
    clearTimeout(timer);
  };
  return {
    signal: abort.signal,
    stop,
    heard: (): void => {
      stop();
      timer = setTimeout(() => abort.abort(), silenceMsMax).unref();
    },
  };
}

function toEvent(data: string): EventView {
  try {
    return JSON.parse(data) as EventView;
  } catch {
    throw localError('unexpected', 'not-countersign', 'An event of the stream is not JSON.');
  }
}
