import type { EventStore } from './event-store.js';

/** The members of a store that return no events. */
type WithoutEvents = 'head' | 'health' | 'records' | 'clock' | 'close';

/**
 * Every way in which events leave a store. A wrapper that looks at events or changes them names each, so that a reader cannot
 * get past it: undefined is a member that the store does not have. A new member of `EventStore` is one of these at first.
 */
export type EventWays = {
  readonly [Name in Exclude<keyof EventStore, WithoutEvents>]: EventStore[Name];
};

/** A store whose events pass through a wrapper. Its other members are those of `store`, or of `others`. */
export function storeOver<Store extends EventStore>(
  store: Store,
  ways: EventWays,
  others: Pick<Partial<EventStore>, WithoutEvents> = {},
): Store {
  return { ...store, ...ways, ...others };
}
