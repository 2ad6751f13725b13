import { useState } from 'react';
import type { ReactNode } from 'react';
import type { ApprovalView } from '@countersign/contracts';
import { printable } from '@countersign/text';
import { respondInBulk } from '../api/countersign.js';
import type { BulkResult } from '../api/countersign.js';
import { problemOf } from '../api/problem.js';
import { usePendingStore } from '../live/use-pending.js';
import { glanceOf } from '../text/json-tree.js';
import { problemWords } from '../text/words.js';
import { Dialog } from '../ui/dialog.js';
import { Marked } from '../ui/marked.js';
import { ScrollTable } from '../ui/table.js';
import { useToast } from '../ui/toast.js';

const columns = ['Tool', 'Arguments', 'Agent'];

/** One response to many approvals, after a preview of all of them. */
export function BulkDialog(props: {
  approvals: readonly ApprovalView[];
  onClose: () => void;
  onDone: () => void;
}): ReactNode {
  // The selection when the dialog opened. Later changes do not affect it.
  const [approvals] = useState(props.approvals);
  const [reason, setReason] = useState('');
  const [isTogether, setTogether] = useState(false);
  const [results, setResults] = useState<readonly BulkResult[]>();
  const [problem, setProblem] = useState('');
  const [isBusy, setBusy] = useState(false);
  const store = usePendingStore();
  const toast = useToast();
  const send = async (type: 'approve' | 'deny'): Promise<void> => {
    setBusy(true);
    setProblem('');
    try {
      const ids = approvals.map(({ approvalId }) => approvalId);
      const mode = isTogether ? 'all-or-nothing' : 'independent';
      const answer = await respondInBulk(ids, { type }, mode, { reason, instruction: '' });
      for (const { approval } of answer.results) if (approval !== undefined) store.apply(approval);
      const refused = answer.results.filter(({ status }) => status !== 'done');
      if (refused.length === 0) {
        toast({ tone: 'good', text: `${type === 'approve' ? 'Approved' : 'Denied'}: ${ids.length} calls` });
        props.onDone();
        props.onClose();
      } else setResults(answer.results);
    } catch (error) {
      setProblem(problemWords(problemOf(error), Date.now()));
    }
    setBusy(false);
  };
  const tools = new Set(approvals.map(({ toolName }) => toolName));
  const needsReason = approvals.some(({ requirement }) => requirement.requireReason.length > 0);
  return (
    <Dialog
      size="large"
      title={`Answer ${approvals.length} approvals`}
      description={
        tools.size === 1
          ? 'All of them are calls of the same tool. Look at each line before you answer.'
          : `These are calls of ${tools.size} different tools. Look at each line before you answer.`
      }
      onClose={props.onClose}
    >
      <BulkTable approvals={approvals} results={results} />
      <p className="problem-line" role="alert">
        {problem}
      </p>
      {results === undefined ? (
        <>
          <label className="field">
            <span className="label">Reason {needsReason ? '(some of them need one)' : '(optional)'}</span>
            <input value={reason} maxLength={8192} onChange={(event) => setReason(event.target.value)} />
          </label>
          <label className="check">
            <input type="checkbox" checked={isTogether} onChange={(event) => setTogether(event.target.checked)} />
            All or nothing: if one cannot be answered, none is
          </label>
          <div className="actions">
            <button className="button deny" type="button" disabled={isBusy} onClick={() => void send('deny')}>
              Deny {approvals.length}
            </button>
            <button className="button approve" type="button" disabled={isBusy} onClick={() => void send('approve')}>
              Approve {approvals.length}
            </button>
          </div>
        </>
      ) : (
        <div className="actions">
          <button
            className="button primary"
            type="button"
            onClick={() => {
              props.onDone();
              props.onClose();
            }}
          >
            Done
          </button>
        </div>
      )}
    </Dialog>
  );
}

function BulkTable(props: {
  approvals: readonly ApprovalView[];
  results: readonly BulkResult[] | undefined;
}): ReactNode {
  const { approvals, results } = props;
  return (
    <ScrollTable label="The calls" columns={results === undefined ? columns : [...columns, 'Result']}>
      {approvals.map((approval) => (
        <BulkRow
          key={approval.approvalId}
          approval={approval}
          hasResults={results !== undefined}
          result={results?.find(({ approvalId }) => approvalId === approval.approvalId)}
        />
      ))}
    </ScrollTable>
  );
}

function BulkRow(props: { approval: ApprovalView; hasResults: boolean; result: BulkResult | undefined }): ReactNode {
  const { approval, hasResults, result } = props;
  return (
    <tr>
      <th scope="row" className="mono">
        <Marked text={approval.toolName} />
      </th>
      <td className="mono wrap">
        <Marked text={glanceOf(approval.arguments, 2000)} />
      </td>
      <td>
        <Marked text={approval.agentId} />
      </td>
      {hasResults && <td data-status={result?.status}>{result === undefined ? '' : resultWords(result)}</td>}
    </tr>
  );
}

function resultWords({ status, problem }: BulkResult): string {
  if (status === 'done') return 'recorded';
  if (problem !== undefined) return problemWords(problem, Date.now());
  return status === 'skipped' ? 'not answered, because another one could not be' : printable(status);
}
