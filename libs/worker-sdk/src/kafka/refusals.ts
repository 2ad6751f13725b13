import type { Client } from '../client.js';
import type { RequestFeed } from './request-feed.js';

/**
 * Hears from the ledger itself, over HTTP, which requests it has refused: what the events topic says of that can be
 * anybody's word. Resolves when nothing that is refused from then on is missed; goes on until the signal aborts.
 * @throws CountersignError when the server refuses to tell, or the signal's end.
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
