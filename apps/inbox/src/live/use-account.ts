import { createContext, use } from 'react';
import type { Account } from '../api/countersign.js';

/** Who is signed in. */
export const AccountContext = createContext<Account | undefined>(undefined);

/** Who is signed in; there is always somebody below the sign-in. */
export function useAccount(): Account {
  const account = use(AccountContext);
  if (account === undefined) throw new Error('nobody is signed in above this component');
  return account;
}
