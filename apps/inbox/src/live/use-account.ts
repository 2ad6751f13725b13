import { createContext, use } from 'react';
import type { Account } from '../api/countersign.js';

/** Reads a value when `key` changes. A late result of an earlier key is dropped. */
export const AccountContext = createContext<Account | undefined>(undefined);

/** The previous value stays until the new one is there. */
export function useAccount(): Account {
  const account = use(AccountContext);
  if (account === undefined) throw new Error('nobody is signed in above this component');
  return account;
}
