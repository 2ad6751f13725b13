import { EventStoreUnavailableError } from '@countersign/event-store';
import type { EventStore } from '@countersign/event-store';

/**
 * A store that is only read while there is a reason for that: the log contradicts what was signed, and what is decided now would
 * be lost with it. An append is refused as if the store were away, so those who retry go on by themselves later.
 */
export function createReadOnlyStore<S extends EventStore>(store: S, whyReadOnly: () => string | undefined): S {
  return {
    ...store,
    append: (...given) => {
      const why = whyReadOnly();
      return why === undefined ? store.append(...given) : Promise.reject(new EventStoreUnavailableError(why));
    },
  };
}
