import type { EventStore } from '@countersign/event-store';
import { connectOf, openEventStoreDb } from '@countersign/event-store/eventstoredb';
import type { OpenedEventStore } from '@countersign/event-store/testing';
import { sleep, systemClock } from '@countersign/runtime';
import { createSilentLog } from '@countersign/runtime/testing';

/** A store for the contract suite, through the client of the URL's scheme; open, and known to respond. */
export async function openedOn(url: string, stopServer: () => void): Promise<OpenedEventStore> {
  const connect = await connectOf(url);
  const open = async (): Promise<EventStore> => {
    const store = openEventStoreDb({ url, connect, log: createSilentLog(), clock: systemClock });
    await store.head();
    while (store.health().status !== 'ok') await sleep(systemClock, 10);
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
