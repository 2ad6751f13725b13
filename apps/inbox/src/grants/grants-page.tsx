import { useEffect, useState } from 'react';
import type { ReactNode } from 'react';
import type { GrantView } from '@countersign/contracts';
import { countWords, useAccount, useLoaded } from '@countersign/react/parts';
import { followEvents } from '../api/event-stream.js';
import { grantTypes, listGrants } from '../api/grants.js';
import { ScrollTable } from '../ui/table.js';
import { WaitingPage } from '../ui/waiting-page.js';
import { CreateGrantDialog } from './create-grant-dialog.js';
import { GrantRow } from './grant-row.js';

const columns = ['Tool', 'Covers', 'For', 'State', 'Uses', 'Given by', 'Ends', ''];
const pagesMax = 10;

/**
 * The standing grants: the calls that run without an approval, who gave each grant, how often it was used; create and
 * revoke.
 */
export default function GrantsPage(): ReactNode {
  const { roles } = useAccount();
  const { value: grants, problem, reload } = useLoaded('grants', readAll);
  const [isLiveOnly, setLiveOnly] = useState(true);
  const [isCreating, setCreating] = useState(false);
  useEffect(() => followEvents({ after: 'now', types: grantTypes }, { onEvent: reload, onRestored: reload }), [reload]);
  if (grants === undefined) return <WaitingPage problem={problem} missing="There are no grants." />;
  const shown = isLiveOnly ? grants.filter(({ state }) => state === 'active' || state === 'pending') : grants;
  return (
    <main className="page">
      <header className="page-head">
        <h1>Grants</h1>
        <span className="cs-muted" role="status">
          {countWords(shown.length, 'standing grant')}
        </span>
      </header>
      <p className="cs-muted">
        A grant answers for its giver: a call that it covers runs without an approval. It never covers what a rule
        blocks or what needs several people.
      </p>
      <div className="cs-actions">
        <label className="cs-check">
          <input type="checkbox" checked={!isLiveOnly} onChange={(event) => setLiveOnly(!event.target.checked)} />
          Also expired, used up and revoked ones
        </label>
        <span className="cs-actions-gap" />
        {roles.includes('approver') && (
          <button className="cs-button cs-primary" type="button" onClick={() => setCreating(true)}>
            New grant…
          </button>
        )}
      </div>
      <ScrollTable
        label="Grants"
        columns={columns}
        isPanel
        empty={
          shown.length === 0 && (
            <p className="nothing cs-muted">No grant holds: every call is asked about by its rule.</p>
          )
        }
      >
        {shown.map((grant) => (
          <GrantRow key={grant.grantId} grant={grant} onChanged={reload} />
        ))}
      </ScrollTable>
      {isCreating && <CreateGrantDialog onClose={() => setCreating(false)} onCreated={reload} />}
    </main>
  );
}

async function readAll(signal: AbortSignal): Promise<readonly GrantView[]> {
  const all: GrantView[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < pagesMax; page += 1) {
    const { grants, nextCursor }: Awaited<ReturnType<typeof listGrants>> = await listGrants(cursor, signal);
    all.push(...grants);
    if (nextCursor === null) break;
    cursor = nextCursor;
  }
  return all;
}
