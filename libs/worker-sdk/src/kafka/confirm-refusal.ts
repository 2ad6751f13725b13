import type { EventView } from '@countersign/contracts';
import type { Client } from '../client.js';

/** Hands over the ledger's refusals of one request. */
export interface RefusalCheck {
  /** The topic has a refusal at this position of the log. */
  readonly check: (position: number) => void;
}

/**
 * Reads refusals from the ledger's own log, because messages on the events topic can be forged. One stream, from the
 * earliest position that was named, stays open until the signal aborts: a false position costs no further read.
 */
export function createRefusalCheck(
  client: Pick<Client, 'events'>,
  signal: AbortSignal,
  onRefusal: (event: EventView) => void,
  onError: (error: unknown) => void,
): RefusalCheck {
  let earliest = Infinity;
  const read = async (position: number): Promise<void> => {
    const types = ['RequestRefused'];
    for await (const event of client.events({ types, after: position - 1, signal })) onRefusal(event);
  };
  return {
    check: (position) => {
      if (position >= earliest) return;
      earliest = position;
      read(position).catch(onError);
    },
  };
}
