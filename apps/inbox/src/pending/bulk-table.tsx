import type { ReactNode } from 'react';
import type { ApprovalView } from '@countersign/contracts';
import { chainWords, plainLabelWords, printable, requesterWords } from '@countersign/text';
import { Marked, Part, RiskBadge, glanceOf, problemWords } from '@countersign/react/parts';
import type { BulkResult } from '@countersign/react/parts';
import { ScrollTable } from '../ui/table.js';
import { glanceMax, isShownWhole, rowNotes } from './shown-whole.js';
import type { BulkPreview } from './use-bulk.js';

const columns = ['Tool', 'Arguments', 'Labels', 'Risk', 'Asked by', 'Agent'];

/** The approvals of a bulk response: before it which of them can be decided, after it the result of each. */
export function BulkTable(props: {
  approvals: readonly ApprovalView[];
  preview: BulkPreview;
  results: readonly BulkResult[] | undefined;
}): ReactNode {
  const { approvals, preview, results } = props;
  return (
    <ScrollTable label="The calls" columns={[...columns, results === undefined ? 'Your answer' : 'Result']}>
      {approvals.map((approval) => (
        <tr key={approval.approvalId}>
          <th scope="row" className="cs-mono">
            <Marked text={approval.toolName} />
            {results === undefined && isShownWhole(approval) && <Part within="tr" />}
          </th>
          <td className="cs-mono wrap">
            <Marked text={glanceOf(approval.arguments, glanceMax)} isFull />
            {rowNotes(approval).map((note) => (
              <p key={note} className="cs-notice">
                {note}
              </p>
            ))}
          </td>
          <td className="wrap">
            <Marked text={plainLabelWords(approval.labels)} />
          </td>
          <td>
            <RiskBadge risk={approval.risk} />
          </td>
          <td>
            {requesterWords(approval, 80)}
            {approval.chain.length > 0 && `, inside ${chainWords(approval.chain, approval.requestedBy)}`}
          </td>
          <td>
            <Marked text={approval.agentId} />
          </td>
          {results === undefined ? (
            <PreviewCell approval={approval} preview={preview} />
          ) : (
            <ResultCell result={results.find(({ approvalId }) => approvalId === approval.approvalId)} />
          )}
        </tr>
      ))}
    </ScrollTable>
  );
}

function PreviewCell(props: { approval: ApprovalView; preview: BulkPreview }): ReactNode {
  const { approvalId } = props.approval;
  const { approve, deny } = props.preview;
  if (approve === undefined || deny === undefined) return <td className="cs-muted">…</td>;
  const [noApproval, noDenial] = [approve.get(approvalId), deny.get(approvalId)];
  if (noApproval === undefined && noDenial === undefined && !isShownWhole(props.approval)) {
    return <td>deny only: open it to approve it, because not all of it is shown here</td>;
  }
  const words = (problem: typeof noApproval) => (problem === undefined ? '' : problemWords(problem, Date.now()));
  if (noApproval === undefined && noDenial === undefined) return <td data-status="done">possible</td>;
  if (noDenial === undefined) return <td>deny only: {words(noApproval)}</td>;
  return noApproval === undefined ? (
    <td>approve only: {words(noDenial)}</td>
  ) : (
    <td data-status="rejected">left out: {words(noApproval)}</td>
  );
}

function ResultCell({ result }: { result: BulkResult | undefined }): ReactNode {
  if (result === undefined) return <td className="cs-muted">left out</td>;
  return <td data-status={result.status}>{resultWords(result)}</td>;
}

function resultWords({ status, problem, approval }: BulkResult): string {
  if (status === 'done') return approval?.state === 'pending' ? 'recorded; more people must answer' : 'recorded';
  if (problem !== undefined) return problemWords(problem, Date.now());
  return status === 'skipped' ? 'not answered, because another one could not be' : printable(status);
}
