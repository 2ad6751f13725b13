import { createContext, useContext } from 'react';
import type { Account } from '../client/approvals.js';

/** The signed-in person. */
export const AccountContext = createContext<Account | undefined>(undefined);

/** The signed-in person; never absent behind the sign-in page. */
export function useAccount(): Account {
  const account = useContext(AccountContext);
  if (account === undefined) throw new Error('no account: this component is outside of the signed-in pages');
  return account;
}
