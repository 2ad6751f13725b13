import { useEffect } from 'react';
import type { ReactNode } from 'react';
import type { ToolCallView } from '@countersign/contracts';
import { callEventTypes } from '../api/call-events.js';
import { readRun } from '../api/countersign.js';
import { followEvents } from '../api/event-stream.js';
import { useLoaded } from '../live/use-loaded.js';
import { hrefs } from '../routes.js';
import { summaryOf } from '../text/json-tree.js';
import { StateBadge } from '../ui/badges.js';
import { Link } from '../ui/link.js';
import { Marked } from '../ui/marked.js';
import { Ago } from '../ui/time.js';

/** All calls of one agent run, in the order in which they were requested. */
export default function RunPage({ runId }: { runId: string }): ReactNode {
  const { value: run, problem, reload } = useLoaded(runId, () => readRun(runId));
  useEffect(() => followEvents({ after: 'now', types: callEventTypes, runId }, { onEvent: reload }), [runId, reload]);
  if (run === undefined) {
    return (
      <main className="page" aria-busy={problem === undefined}>
        {problem !== undefined && (
          <p className="notice">{problem.status === 404 ? 'There is no such run.' : problem.detail}</p>
        )}
      </main>
    );
  }
  const agents = [...new Set(run.calls.map(({ agentId }) => agentId))];
  return (
    <main className="page">
      <header className="page-head">
        <h1>
          Run{' '}
          <span className="mono">
            <Marked text={runId} />
          </span>
        </h1>
        {run.hasPendingApprovals && <StateBadge state="pending" />}
      </header>
      <p className="muted">
        {run.calls.length} {run.calls.length === 1 ? 'call' : 'calls'} by <Marked text={agents.join(', ')} />
      </p>
      <div className="table-scroll panel" tabIndex={0} role="region" aria-label="Calls of the run">
        <table className="table">
          <thead>
            <tr>
              <th scope="col">Tool</th>
              <th scope="col">Arguments</th>
              <th scope="col">State</th>
              <th scope="col">Rule</th>
              <th scope="col">Requested</th>
            </tr>
          </thead>
          <tbody>
            {run.calls.map((call) => (
              <CallRow key={call.callId} call={call} />
            ))}
          </tbody>
        </table>
      </div>
    </main>
  );
}

function CallRow({ call }: { call: ToolCallView }): ReactNode {
  const pending = call.approval?.state === 'pending' ? call.approval.approvalId : undefined;
  return (
    <tr>
      <th scope="row">
        <Link className="mono" href={pending === undefined ? hrefs.call(call.callId) : hrefs.approval(pending)}>
          <Marked text={call.toolName} />
        </Link>
      </th>
      <td className="mono wrap">
        <Marked text={summaryOf(call.arguments, 300)} />
      </td>
      <td>
        <StateBadge state={call.state} />
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
