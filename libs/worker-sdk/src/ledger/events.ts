import type { LogEventView } from '@countersign/contracts';
import { followStream, retryAfterMs } from '@countersign/http-client';
import { CountersignError, errorOfAnswer, messageOf } from '../errors.js';
import { unreadable, type Transport } from './transport.js';

/** Selects the events to read, and where to start. */
export interface EventsOptions {
  /** A position; `now` for live events only; absent: from the first event. */
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

const retryAfterMsMax = 60_000;

/**
 * The recorded events in order, without end. Reconnects with backoff after the last received event. Throws when the
 * server refuses (`unauthenticated`, `forbidden`, `invalid-request`, `future-position` after the log was put back).
 */
export async function* readEvents(
  transport: Transport,
  token: string,
  options: EventsOptions,
): AsyncGenerator<LogEventView, void> {
  const { clock, random } = transport;
  let serverWaitMs = 0;
  const open = async (lastEventId: string | undefined, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> => {
    const headers: Record<string, string> = lastEventId === undefined ? {} : { 'last-event-id': lastEventId };
    const response = await transport.open({ path: '/v1/events', query: queryOf(options), token, headers, signal });
    // The log was put back, and has not given out that position. What is live goes on.
    if (response.status === 409 && options.after === 'now' && lastEventId !== undefined) return open(undefined, signal);
    serverWaitMs = retryAfterMs(response.headers.get('retry-after'), Date.now(), retryAfterMsMax) ?? 0;
    const body = await bodyOf(response);
    options.onOpen?.();
    return body;
  };
  const onLost = (error: unknown): number => {
    if (isFinal(error)) throw error;
    const waitMs = serverWaitMs;
    serverWaitMs = 0;
    return waitMs;
  };
  for await (const data of followStream({ open, onLost, signal: options.signal, clock, random })) {
    yield JSON.parse(data) as LogEventView;
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

/** Errors that a retry would get again. */
function isFinal(error: unknown): boolean {
  if (!(error instanceof CountersignError)) return false;
  if (error.status === null) return error.code === 'unreadable-response';
  return error.status < 500 && error.status !== 429;
}

function queryOf({ after, runId, callId, types }: EventsOptions): Readonly<Record<string, string | undefined>> {
  return { after: after?.toString(), runId, callId, types: types?.join(',') };
}
