import type { LogEventView } from '@countersign/contracts';
import { followStream } from '@countersign/http-client';
import { CliError, localError, toCliError } from '../cli-error.js';
import { exitCodes } from '../exit-codes.js';
import type { LedgerClient } from './ledger-client.js';

/** Selects the events to follow, and where to start. */
export interface FollowOptions {
  /** Events after this position; `now` for new events only. */
  readonly after: number | 'now';
  readonly runId?: string | undefined;
  readonly callId?: string | undefined;
  /** Event types, separated by commas. */
  readonly types?: string | undefined;
  readonly signal: AbortSignal;
  /** The server has responded before, so a failed first connection is retried like a lost one. */
  readonly isKnown?: boolean;
  /** Called with the error when the connection is lost, and with undefined when it is restored. */
  readonly onConnection?: (lost: CliError | undefined) => void;
}

/**
 * Yields the recorded events without gaps or duplicates until the signal aborts. Reconnects from the last position when
 * the connection breaks. Throws when the first connection fails (unless the server is known) and when the server
 * refuses.
 */
export async function* followEvents(client: LedgerClient, options: FollowOptions): AsyncGenerator<LogEventView, void> {
  const { after, runId, callId, types, signal, onConnection } = options;
  let wasConnected = options.isKnown === true;
  const open = async (lastEventId: string | undefined, over: AbortSignal): Promise<AsyncIterable<Uint8Array>> => {
    const response = await client.open('/v1/events', {
      query: { after, runId, callId, types },
      headers: { accept: 'text/event-stream', ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }) },
      signal: over,
    });
    wasConnected = true;
    onConnection?.(undefined);
    return bodyOf(response, client.url);
  };
  const onLost = (error: unknown): number => {
    const lost = error === undefined ? undefined : toCliError(error);
    if (lost === undefined) return 0;
    if (!wasConnected || !isPassing(lost)) throw lost;
    onConnection?.(lost);
    return 0;
  };
  for await (const data of followStream({ open, onLost, signal })) yield toEvent(data);
}

/** Returns whether the log has not given out a position that came from it: it was restored from a backup. */
export function isOfOlderLog(error: unknown): boolean {
  return error instanceof CliError && error.problem.code === 'future-position';
}

async function* bodyOf({ body }: Response, url: string): AsyncGenerator<Uint8Array, void> {
  try {
    for await (const chunk of body ?? []) yield chunk;
  } catch {
    // Every socket error is handled in the same way: reconnect.
    throw localError('unreachable', 'connection-lost', `The connection to ${url} broke.`);
  }
}

function isPassing(error: CliError): boolean {
  const { exitCode } = error;
  return exitCode === exitCodes.unreachable || exitCode === exitCodes.notReady || error.problem.status >= 500;
}

function toEvent(data: string): LogEventView {
  try {
    return JSON.parse(data) as LogEventView;
  } catch {
    throw localError('unexpected', 'not-countersign', 'An event of the stream is not JSON.');
  }
}
