import type { EventStore } from '@countersign/event-store';
import type { ReadinessCheck } from '../http/health.js';

/** Returns whether the event store can be written and read. */
export function createStoreCheck(store: Pick<EventStore, 'health'>): ReadinessCheck {
  return {
    name: 'event-store',
    check: () => {
      const health = store.health();
      return health.status === 'ok' ? health : { status: 'failing', why: `${health.status}: ${health.why}` };
    },
  };
}
