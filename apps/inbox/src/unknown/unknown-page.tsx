import { useState } from 'react';
import type { ReactNode } from 'react';
import type { ToolCallView } from '@countersign/contracts';
import { printable } from '@countersign/text';
import { Ago, Marked, countWords, isObject, summaryOf, useAccount } from '@countersign/react/parts';
import { useUnknown } from '../live/use-unknown.js';
import { hrefs } from '../routes.js';
import { Link } from '../ui/link.js';
import { ScrollTable } from '../ui/table.js';
import { WaitingPage } from '../ui/waiting-page.js';
import { ReconcileDialog } from './reconcile-dialog.js';

const columns = ['Tool', 'Arguments', 'Agent', 'Why', 'Since', ''];

/** The calls whose outcome is unknown, and a way to say what happened. */
export default function UnknownPage(): ReactNode {
  const { calls, hasMore, problem, reload } = useUnknown();
  const isAdmin = useAccount().roles.includes('admin');
  const [chosen, setChosen] = useState<ToolCallView>();
  if (calls === undefined) return <WaitingPage problem={problem} missing="There are no such calls." />;
  return (
    <main className="page">
      <header className="page-head">
        <h1>Unknown outcomes</h1>
        <span className="cs-muted" role="status">
          {countWords(calls.length, 'call')}
          {hasMore && ', and more'}
        </span>
      </header>
      <p className="cs-muted">
        The worker was lost while the tool ran. It may have run. It is not retried automatically. Look at the system
        that the tool works on, then record what happened.
        {!isAdmin && ' Only admins can record it; your account lacks the role admin.'}
      </p>
      <ScrollTable
        label="Calls with an unknown outcome"
        columns={columns}
        isPanel
        empty={calls.length === 0 && <p className="nothing cs-muted">The outcome of every call is known.</p>}
      >
        {calls.map((call) => (
          <tr key={call.callId}>
            <th scope="row">
              <Link className="cs-mono" href={hrefs.call(call.callId)}>
                <Marked text={call.toolName} />
              </Link>
            </th>
            <td className="cs-mono wrap">
              <Marked text={summaryOf(call.arguments, 300)} />
            </td>
            <td>
              <Marked text={call.agentId} />
            </td>
            <td className="wrap">{reasonOf(call)}</td>
            <td>{call.settledAt !== null && <Ago time={call.settledAt} />}</td>
            <td>
              {isAdmin && (
                <button className="cs-button" type="button" onClick={() => setChosen(call)}>
                  Reconcile…
                </button>
              )}
            </td>
          </tr>
        ))}
      </ScrollTable>
      {chosen !== undefined && <ReconcileDialog call={chosen} onClose={() => setChosen(undefined)} onDone={reload} />}
    </main>
  );
}

function reasonOf({ error }: ToolCallView): string {
  const message = isObject(error) ? error['message'] : undefined;
  return typeof message === 'string' ? printable(message, 300) : '';
}
