import { createContext, use } from 'react';
import type { Account } from '../api/countersign.js';

/** The signed-in person. */
export const AccountContext = createContext<Account | undefined>(undefined);

/** The signed-in person; never absent behind the sign-in page. */
export function useAccount(): Account {
  const account = use(AccountContext);
  if (account === undefined) throw new Error('no account: this component is outside of the signed-in pages');
  return account;
}
