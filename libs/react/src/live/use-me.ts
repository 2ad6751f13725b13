import { useMemo } from 'react';
import type { ApprovalsClient } from '../client/approvals-client.js';
import { readMe } from '../client/approvals.js';
import type { Account } from '../client/approvals.js';
import { useLoaded } from './use-loaded.js';
import { useRefresh } from './use-refresh.js';

const unknownPerson: Account = { principal: '', tenant: '', roles: [], groups: [] };

/** The person of the page, read again every so often: another one may sign in while it is open. Until then they have no roles. */
export function useMe(client: ApprovalsClient, everyMs: number): Account {
  const { value, problem, reload } = useLoaded('me', (signal) => readMe(client, signal));
  useRefresh(problem ?? value, reload, everyMs);
  const written = JSON.stringify(value ?? unknownPerson);
  return useMemo(() => JSON.parse(written) as Account, [written]);
}
