import { createContext, useContext } from 'react';
import type { ApprovalsClient } from '../client/approvals-client.js';

/** How the components below reach Countersign. */
export const ClientContext = createContext<ApprovalsClient | undefined>(undefined);

/** The client of the components above. */
export function useClient(): ApprovalsClient {
  const client = useContext(ClientContext);
  if (client === undefined) throw new Error('there is no client above this component: put it into <ApprovalsProvider>');
  return client;
}
