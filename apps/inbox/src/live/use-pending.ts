import { createContext, use, useSyncExternalStore } from 'react';
import type { PendingState, PendingStore } from './pending-store.js';

/** The pending approvals. */
export const PendingContext = createContext<PendingStore | undefined>(undefined);

/** The actions by key name. */
export function usePendingStore(): PendingStore {
  const store = use(PendingContext);
  if (store === undefined) throw new Error('there is no pending store above this component');
  return store;
}

/** Binds keys while the component is mounted. They are ignored in text fields and while a dialog is open. */
export function usePending(): PendingState {
  const store = usePendingStore();
  return useSyncExternalStore(store.subscribe, store.state);
}
