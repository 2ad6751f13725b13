import type { EventView, LogEventView } from '@countersign/contracts';
import { createSseParser } from '@countersign/http-client';
import type { LedgerClient } from './ledger-client.js';

/** The events about messages to people. */
export const deliveryTypes: readonly string[] = ['NotificationDelivered', 'NotificationUpdated', 'NotificationFailed'];

const timeoutMs = 10_000;

/**
 * Returns the recorded events about the messages of a call, in order, up to the server's mark that the rest is live. It
 * returns those that came when the mark does not come in 10 s.
 * @throws CliError when the server refuses.
 */
export async function deliveriesOfCall(
  client: LedgerClient,
  callId: string,
  interrupted: AbortSignal,
): Promise<readonly EventView[]> {
  const over = new AbortController();
  const query = { callId, types: deliveryTypes.join(',') };
  const signal = AbortSignal.any([interrupted, over.signal, AbortSignal.timeout(timeoutMs)]);
  const response = await client.open('/v1/events', { query, headers: { accept: 'text/event-stream' }, signal });
  const events: EventView[] = [];
  const comments: string[] = [];
  const parse = createSseParser((comment) => comments.push(comment));
  const decoder = new TextDecoder();
  const chunks: AsyncIterable<Uint8Array> | readonly Uint8Array[] = response.body ?? [];
  try {
    for await (const chunk of chunks) {
      for (const { data } of parse(decoder.decode(chunk, { stream: true }))) {
        const event = data === undefined ? undefined : (JSON.parse(data) as LogEventView);
        if (event !== undefined && event.data !== null) events.push(event as EventView);
      }
      if (comments.includes('caught up')) break;
    }
  } catch {
    // The connection broke: the call itself is shown.
  } finally {
    over.abort();
  }
  return events;
}
