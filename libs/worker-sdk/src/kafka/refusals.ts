import type { Client } from '../client.js';
import type { RequestFeed } from './request-feed.js';

/**
 * Reads the ledger's refusals over HTTP, because messages on the events topic can be forged. Resolves when no later
 * refusal is missed; continues until the signal aborts.
 * @throws CountersignError when the server refuses, or the signal's reason.
 */
export function hearRefusals(
  client: Pick<Client, 'events'>,
  feed: Pick<RequestFeed, 'refuse'>,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const listen = async (): Promise<never> => {
      for await (const event of client.events({ types: ['RequestRefused'], after: 'now', signal, onOpen: resolve })) {
        feed.refuse(event);
      }
      throw new Error('no longer listening');
    };
    listen().catch(reject);
  });
}
