import { createContext, useContext, useSyncExternalStore } from 'react';
import type { PendingState, PendingStore } from './pending-store.js';

/** The store of the pending approvals. */
export const PendingContext = createContext<PendingStore | undefined>(undefined);

/** The store itself, for the components that change it. */
export function usePendingStore(): PendingStore {
  const store = useContext(PendingContext);
  if (store === undefined) throw new Error('there is no pending store above this component');
  return store;
}

/** The pending approvals. */
export function usePending(): PendingState {
  const store = usePendingStore();
  return useSyncExternalStore(store.subscribe, store.state, store.state);
}
