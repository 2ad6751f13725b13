import { useState } from 'react';
import type { ReactNode } from 'react';
import type { ApprovalView, ToolCallView } from '@countersign/contracts';
import { quotedName } from '@countersign/text';
import { Ago, Marked, StateBadge, countWords, summaryOf, useLoaded, useNews } from '@countersign/react/parts';
import { readRun } from '../api/countersign.js';
import { BulkDialog } from '../pending/bulk-dialog.js';
import { selectedMax } from '../pending/use-selection.js';
import { hrefs } from '../routes.js';
import { Link } from '../ui/link.js';
import { ScrollTable } from '../ui/table.js';
import { WaitingPage } from '../ui/waiting-page.js';

const columns = ['Tool', 'Arguments', 'State', 'Rule', 'Requested'];

/** The calls of one agent run in the order of their requests. */
export default function RunPage({ runId }: { runId: string }): ReactNode {
  const { value: run, problem, reload } = useLoaded(runId, () => readRun(runId));
  useNews({ runId }, reload);
  if (run === undefined) return <WaitingPage problem={problem} missing="There is no such run." />;
  const agents = [...new Set(run.calls.map(({ agentId }) => agentId))];
  return (
    <main className="page">
      <header className="page-head">
        <h1>
          Run{' '}
          <span className="cs-mono">
            <Marked text={runId} />
          </span>
        </h1>
        {run.hasPendingApprovals && <StateBadge state="pending" />}
      </header>
      <PendingOfRun approvals={run.pendingApprovals} onDone={reload} />
      <p className="cs-muted">
        {countWords(run.calls.length, 'call')} by <Marked text={agents.map(quotedName).join(', ')} />
      </p>
      <ScrollTable label="Calls of the run" columns={columns} isPanel>
        {run.calls.map((call) => (
          <CallRow key={call.callId} call={call} />
        ))}
      </ScrollTable>
    </main>
  );
}

/** All that waits in the run, to be answered at once after a preview. */
function PendingOfRun({ approvals, onDone }: { approvals: readonly ApprovalView[]; onDone: () => void }): ReactNode {
  const [isReviewing, setReviewing] = useState(false);
  if (approvals.length === 0 && !isReviewing) return null;
  return (
    <p className="cs-actions">
      {countWords(approvals.length, 'approval')} of this run {approvals.length === 1 ? 'waits' : 'wait'} for an answer.
      <button className="cs-button" type="button" onClick={() => setReviewing(true)}>
        Review {Math.min(approvals.length, selectedMax)} …
      </button>
      {isReviewing && (
        <BulkDialog approvals={approvals.slice(0, selectedMax)} onClose={() => setReviewing(false)} onDone={onDone} />
      )}
    </p>
  );
}

function CallRow({ call }: { call: ToolCallView }): ReactNode {
  const pending = call.approval?.state === 'pending' ? call.approval.approvalId : undefined;
  return (
    <tr>
      <th scope="row">
        <Link className="cs-mono" href={pending === undefined ? hrefs.call(call.callId) : hrefs.approval(pending)}>
          <Marked text={call.toolName} />
        </Link>
      </th>
      <td className="cs-mono wrap">
        <Marked text={summaryOf(call.arguments, 300)} />
      </td>
      <td>
        <StateBadge state={call.state} waitsForTurn={call.waitsForTurn} />
        {call.heldBy !== undefined && (
          <>
            {' '}
            behind <Link href={hrefs.call(call.heldBy)}>a call that cannot be read</Link>
          </>
        )}
      </td>
      <td>
        <Marked text={call.verdict.ruleId} />
      </td>
      <td>
        <Ago time={call.requestedAt} />
      </td>
    </tr>
  );
}
