import { useDeferredValue, useMemo, useState } from 'react';
import type { ReactNode } from 'react';
import type { ApprovalView } from '@countersign/contracts';
import { durationWords, responderWords } from '@countersign/text';
import { Ago, Marked, StateBadge, channelWords, summaryOf } from '@countersign/react/parts';
import { filtered, noFilters } from '../pending/filters.js';
import { hrefs } from '../routes.js';
import { Link } from '../ui/link.js';
import { ScrollTable } from '../ui/table.js';
import { outcomes } from './outcomes.js';
import { useDecided } from './use-decided.js';

const columns = ['Tool', 'Arguments', 'Agent', 'Outcome', 'By', 'When', 'Then'];
const shownAtOnce = 100;

/** The decisions, who made them and how fast, searchable by any word. */
export default function HistoryPage(): ReactNode {
  const { approvals, isLoading, isPartial, problem } = useDecided();
  const [text, setText] = useState('');
  const [state, setState] = useState('');
  const [count, setCount] = useState(shownAtOnce);
  const applied = useDeferredValue(text);
  const found = useMemo(
    () =>
      filtered(approvals, { ...noFilters, text: applied }, Date.now()).filter(
        (approval) => state === '' || approval.state === state,
      ),
    [approvals, applied, state],
  );
  return (
    <main className="page" aria-busy={isLoading}>
      <header className="page-head">
        <h1>History</h1>
        <span className="cs-muted" role="status">
          {isLoading ? 'Loading …' : `${found.length.toLocaleString('en-US')} decided`}
        </span>
      </header>
      <div className="history-filters" role="search" aria-label="Search the history">
        <input
          type="search"
          aria-label="Search"
          placeholder="Search tool, agent, run, arguments, person …"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <select aria-label="Outcome" value={state} onChange={(event) => setState(event.target.value)}>
          <option value="">any outcome</option>
          {outcomes.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      </div>
      {problem !== undefined && <p className="cs-notice">{problem.detail}</p>}
      {isPartial && (
        <p className="cs-notice">
          Of each outcome the 10,000 that were requested last are here; the ledger holds more.{' '}
          <code>countersign list</code> and <code>GET /v1/approvals</code> read all of it.
        </p>
      )}
      <ScrollTable
        label="Decided approvals"
        columns={columns}
        isPanel
        empty={
          !isLoading &&
          found.length === 0 && <p className="nothing cs-muted">Nothing was decided yet, or nothing fits.</p>
        }
      >
        {found.slice(0, count).map((approval) => (
          <HistoryRow key={approval.approvalId} approval={approval} />
        ))}
      </ScrollTable>
      {found.length > count && (
        <button className="cs-button" type="button" onClick={() => setCount(count + shownAtOnce)}>
          Show more
        </button>
      )}
    </main>
  );
}

function HistoryRow({ approval }: { approval: ApprovalView }): ReactNode {
  const { toolName, agentId, state, callState, callId, requestedAt, resolvedAt, responses } = approval;
  const last = responses.at(-1);
  return (
    <tr>
      <th scope="row">
        <Link className="cs-mono" href={hrefs.call(callId)}>
          <Marked text={toolName} />
        </Link>
      </th>
      <td className="cs-mono cut">
        <Marked text={summaryOf(approval.arguments, 120)} />
      </td>
      <td>
        <Marked text={agentId} />
      </td>
      <td>
        <StateBadge state={state} />
      </td>
      <td>
        {last === undefined || state === 'cancelled' ? (
          <span className="cs-muted">{state === 'cancelled' ? 'cancelled before a decision' : 'no answer'}</span>
        ) : (
          <>
            {responderWords(last)} <span className="cs-muted">via {channelWords(last.via)}</span>
          </>
        )}
      </td>
      <td>
        {resolvedAt !== null && (
          <>
            <Ago time={resolvedAt} />{' '}
            <span className="cs-muted">after {durationWords(Date.parse(resolvedAt) - Date.parse(requestedAt))}</span>
          </>
        )}
      </td>
      <td>{state === 'approved' && callState !== 'approved' && <StateBadge state={callState} />}</td>
    </tr>
  );
}
