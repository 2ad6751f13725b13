import { useEffect, useMemo } from 'react';
import type { ReactNode } from 'react';
import type { ApprovalsClient } from '../client/approvals-client.js';
import type { Filter } from '../client/approvals.js';
import { Toasts } from '../ui/toast.js';
import { createPolledStore } from './polled-store.js';
import { SurroundingsContext } from './surroundings.js';
import type { Surroundings } from './surroundings.js';
import { AccountContext } from './use-account.js';
import { ClientContext } from './use-client.js';
import { useMe } from './use-me.js';
import { PendingContext } from './use-pending.js';

/** What the approvals of a page need. */
export interface ApprovalsProviderProps {
  /** Keep it outside of the component, or memoize it: with another one everything is read again. */
  readonly client: ApprovalsClient;
  /** The approvals of this page, such as those of one run. Default: all that the person can see. */
  readonly filter?: Filter;
  /** How often the list is read while the page is visible, in ms. Default: 3000; at least 1000. */
  readonly everyMs?: number;
  /** Where links lead. Default: nowhere. */
  readonly surroundings?: Surroundings;
  readonly children: ReactNode;
}

const nowhere: Surroundings = {};
const everyMsDefault = 3000;
const everyMsMin = 1000;

/** Gives the components below their client, and reads what is pending. Until the person is known they have no roles. */
export function ApprovalsProvider(props: ApprovalsProviderProps): ReactNode {
  const { client, filter = {}, everyMs = everyMsDefault, surroundings = nowhere, children } = props;
  const wanted = JSON.stringify(filter);
  const pauseMs = Math.max(everyMsMin, everyMs);
  const store = useMemo(
    () => createPolledStore(client, JSON.parse(wanted) as Filter, pauseMs),
    [client, wanted, pauseMs],
  );
  useEffect(() => store.start(), [store]);
  const account = useMe(client, pauseMs);
  return (
    <AccountContext.Provider value={account}>
      <ClientContext.Provider value={client}>
        <SurroundingsContext.Provider value={surroundings}>
          <PendingContext.Provider value={store}>
            <Toasts>{children}</Toasts>
          </PendingContext.Provider>
        </SurroundingsContext.Provider>
      </ClientContext.Provider>
    </AccountContext.Provider>
  );
}
