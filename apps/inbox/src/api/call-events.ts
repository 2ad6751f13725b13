import type { EventView, LogEventView, ToolCallState } from '@countersign/contracts';
import { createSseParser } from '@countersign/http-client';
import { UnreachableError } from '@countersign/react/parts';
import { http, orUnreachable, ourHeaders, refusalOf } from './http.js';

const stateByEvent: Readonly<Record<string, ToolCallState>> = {
  ExecutionClaimed: 'executing',
  ExecutionSucceeded: 'succeeded',
  ExecutionFailed: 'failed',
  ExecutionOutcomeUnknown: 'unknown',
  ExecutionLapsed: 'approved',
};

/** The state of a call after an event about its run; undefined when the event does not change it. */
export function stateAfter({ type, data }: EventView): ToolCallState | undefined {
  if (type !== 'ExecutionReconciled') return Object.hasOwn(stateByEvent, type) ? stateByEvent[type] : undefined;
  return data['status'] === 'succeeded' || data['status'] === 'failed' ? data['status'] : 'approved';
}

const timeoutMs = 20_000;

/**
 * Returns the recorded events of a call in order, up to the server's mark that the rest is live.
 * @throws ProblemError, UnreachableError
 */
export async function readCallEvents(
  callId: string,
  types: readonly string[],
  signal: AbortSignal,
): Promise<readonly EventView[]> {
  const enough = new AbortController();
  const path = '/v1/events';
  const query = { callId, types: types.join(',') };
  try {
    const over = AbortSignal.any([signal, enough.signal, AbortSignal.timeout(timeoutMs)]);
    const response = await http.open({ path, query, headers: ourHeaders(), signal: over }).catch(orUnreachable);
    if (!response.ok || response.body === null) {
      throw refusalOf(response.status, await response.json().catch(() => undefined), path);
    }
    return await recordedIn(response.body.pipeThrough(new TextDecoderStream()).getReader());
  } catch (error) {
    if (error instanceof TypeError || error instanceof DOMException) {
      throw new UnreachableError('no answer', { cause: error });
    }
    throw error;
  } finally {
    enough.abort();
  }
}

async function recordedIn(reader: ReadableStreamDefaultReader<string>): Promise<readonly EventView[]> {
  const events: EventView[] = [];
  const comments: string[] = [];
  const parse = createSseParser((comment) => comments.push(comment));
  while (!comments.includes('caught up')) {
    const { value, done } = await reader.read();
    if (done) throw new UnreachableError('the stream broke off');
    for (const { data } of parse(value)) {
      const event = data === undefined ? undefined : (JSON.parse(data) as LogEventView);
      if (event !== undefined && event.data !== null) events.push(event as EventView);
    }
  }
  return events;
}
