import type { EventView } from '@countersign/contracts';
import { linkedController } from '@countersign/http-client';
import type { Client } from '../ledger/client.js';

/** Hands over the ledger's refusals of one request. */
export interface RefusalCheck {
  /** The topic has a refusal at this position of the log. */
  readonly check: (position: number) => void;
}

/**
 * Reads refusals from the ledger's own log, because messages on the events topic can be forged. One stream stays open until
 * the signal aborts, from the earliest position that was named. An earlier one replaces it, so there is never a second.
 */
export function createRefusalCheck(
  client: Pick<Client, 'events'>,
  signal: AbortSignal,
  onRefusal: (event: EventView) => void,
  onError: (error: unknown) => void,
): RefusalCheck {
  let earliest = Infinity;
  let current: AbortController | undefined;
  const read = async (position: number): Promise<void> => {
    const stream = linkedController(signal);
    current = stream;
    try {
      const types = ['RequestRefused'];
      const after = Math.max(0, position - 1);
      for await (const event of client.events({ types, after, signal: stream.signal })) {
        if (event.data !== null) onRefusal(event as EventView);
      }
    } catch (error) {
      if (stream.signal.aborted) return;
      // Attack: a forged position of the near future is refused. Later messages are checked all the same.
      earliest = Infinity;
      onError(error);
    } finally {
      stream.release();
    }
  };
  return {
    check: (position) => {
      if (position >= earliest) return;
      earliest = position;
      current?.abort(new Error('an earlier position was named'));
      void read(position);
    },
  };
}
