import { EventStoreUnavailableError } from '@countersign/event-store';
import type { EventStore } from '@countersign/event-store';

/**
 * A store that commands only read while there is a reason for that: the log contradicts what was signed, and new decisions would
 * be lost with it. What the process records about itself goes to the store as it is.
 */
export function createReadOnlyStore(store: EventStore, whyReadOnly: () => string | undefined): EventStore {
  return {
    ...store,
    append: (...given) => {
      const why = whyReadOnly();
      return why === undefined ? store.append(...given) : Promise.reject(new EventStoreUnavailableError(why));
    },
  };
}
