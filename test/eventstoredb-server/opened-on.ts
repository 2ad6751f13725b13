import type { EventStore } from '@countersign/event-store';
import type { EventStoreDbOptions } from '@countersign/event-store/eventstoredb';
import type { OpenedEventStore } from '@countersign/event-store/testing';
import { createSystemClock } from '@countersign/runtime';
import { createSilentLog } from '@countersign/runtime/testing';

/** A store for the contract suite: opened, and known to answer. */
export async function openedOn(
  openStore: (options: Omit<EventStoreDbOptions, 'url'>) => EventStore,
  stopServer: () => void,
): Promise<OpenedEventStore> {
  const open = async (): Promise<EventStore> => {
    const store = openStore({ log: createSilentLog(), clock: createSystemClock() });
    await store.head();
    return store;
  };
  let store = await open();
  return {
    store,
    reopen: async () => {
      await store.close();
      return (store = await open());
    },
    dispose: async () => {
      await store.close();
      stopServer();
    },
  };
}
