import type { ReactNode } from 'react';
import type { ApprovalView } from '@countersign/contracts';
import { useApprovals } from '../live/use-approvals.js';
import { summaryOf } from '../text/json-tree.js';
import { RiskBadge } from '../ui/badges.js';
import { Marked, Name } from '../ui/marked.js';
import { Age, Countdown } from '../ui/time.js';

/** The pending approvals of the page, the highest risk first, one line each. The line is a summary; the card shows all. */
export function ApprovalList(props: {
  /** The one whose card is open. */
  readonly currentId?: string | undefined;
  readonly onOpen: (approvalId: string) => void;
  /** Stands in the place of an empty list. Default: nothing waits for an answer. */
  readonly empty?: ReactNode;
}): ReactNode {
  const { currentId, onOpen, empty = 'Nothing waits for an answer.' } = props;
  const { approvals, status, hasMore, connection } = useApprovals();
  return (
    <section className="cs-root cs-list" aria-label="Pending approvals" aria-busy={status === 'loading'}>
      {connection === 'lost' && <p className="cs-notice">The list may be old: the server does not answer.</p>}
      {connection === 'signed-out' && (
        <p className="cs-notice" role="status">
          The list may be old: nobody is signed in.
        </p>
      )}
      {status === 'ready' && approvals.length === 0 && <p className="cs-muted">{empty}</p>}
      <ul>
        {approvals.map((approval) => (
          <li key={approval.approvalId} data-current={approval.approvalId === currentId}>
            <button
              type="button"
              className="cs-list-row"
              aria-current={approval.approvalId === currentId}
              onClick={() => onOpen(approval.approvalId)}
            >
              <Row approval={approval} />
            </button>
          </li>
        ))}
      </ul>
      {hasMore && <p className="cs-muted">More wait than are shown.</p>}
    </section>
  );
}

function Row({ approval }: { approval: ApprovalView }): ReactNode {
  return (
    <>
      <span className="cs-list-head">
        <span className="cs-mono">
          <Name text={approval.toolName} />
        </span>
        {(approval.risk === 'high' || approval.risk === 'medium') && <RiskBadge risk={approval.risk} />}
        <span className="cs-list-end cs-muted">
          <Age time={approval.requestedAt} />
        </span>
      </span>
      <span className="cs-list-summary cs-mono cs-muted">
        <Marked text={summaryOf(approval.arguments)} />
      </span>
      <span className="cs-list-head cs-muted">
        <Name text={approval.agentId} />
        <span className="cs-list-end">
          <Countdown approval={approval} />
        </span>
      </span>
    </>
  );
}
