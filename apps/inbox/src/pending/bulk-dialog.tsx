import { useState } from 'react';
import type { ReactNode } from 'react';
import type { ApprovalView } from '@countersign/contracts';
import { denialWords } from '@countersign/text';
import {
  HoldButton,
  Dialog,
  SeenParts,
  Unseen,
  countWords,
  onPress,
  useAccount,
  useSeen,
  useToast,
} from '@countersign/react/parts';
import { BulkTable } from './bulk-table.js';
import { isShownWhole } from './shown-whole.js';
import { useBulkPreview, useBulkSending } from './use-bulk.js';
import type { BulkPreview, BulkType } from './use-bulk.js';

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
  const isApprover = useAccount().roles.includes('approver');
  const preview = useBulkPreview(approvals, isApprover);
  const { state: seen, context } = useSeen('bulk');
  const toast = useToast();
  const finish = (): void => {
    props.onDone();
    props.onClose();
  };
  const { send, results, problem, isBusy } = useBulkSending((type, count) => {
    toast({ tone: 'good', text: `${type === 'approve' ? 'Approved' : 'Denied'}: ${countWords(count, 'call')}` });
    finish();
  });
  const choose = (type: BulkType) => () =>
    void send(possibleIn(approvals, preview, type), type, { reason, isTogether });
  return (
    <Dialog
      size="large"
      title={`Answer ${countWords(approvals.length, 'approval')}`}
      description={introOf(approvals)}
      onClose={props.onClose}
    >
      <SeenParts context={results === undefined ? context : undefined}>
        <BulkTable approvals={approvals} preview={preview} results={results} />
      </SeenParts>
      <p className="cs-problem-line" role="alert">
        {problem}
      </p>
      {!isApprover && <p className="cs-muted">You can look, not decide: your account lacks the role approver.</p>}
      {isApprover && results === undefined && (
        <>
          <BulkFields {...{ approvals, reason, setReason, isTogether, setTogether }} />
          {possibleIn(approvals, preview, 'approve').length > 0 && (
            <Unseen seen={seen} words="There are more lines. You can approve them once all of each was on screen." />
          )}
          {approvals
            .flatMap(({ requirement }) => denialWords(requirement) || [])
            .slice(0, 1)
            .map((words) => (
              <p key={words} className="cs-muted">
                A denial of some of them {words}.
              </p>
            ))}
          <div className="cs-actions">
            {(['deny', 'approve'] as const).map((type) => (
              <BulkButton
                key={type}
                {...{ type, approvals, preview }}
                isOff={isBusy || (type === 'approve' && !seen.isAll)}
                onChoose={choose(type)}
              />
            ))}
          </div>
        </>
      )}
      {results !== undefined && (
        <div className="cs-actions">
          <button className="cs-button cs-primary" type="button" onClick={finish}>
            Done
          </button>
        </div>
      )}
    </Dialog>
  );
}

function introOf(approvals: readonly ApprovalView[]): string {
  const tools = new Set(approvals.map(({ toolName }) => toolName));
  const what =
    tools.size === 1 ? 'All of them are calls of the same tool.' : `These are calls of ${tools.size} different tools.`;
  return `${what} Look at each line before you answer. Your answer is for these calls alone: it permits no later one.`;
}

function possibleIn(approvals: readonly ApprovalView[], preview: BulkPreview, type: BulkType): readonly ApprovalView[] {
  return approvals.filter(
    (approval) => preview[type]?.has(approval.approvalId) !== true && (type === 'deny' || isShownWhole(approval)),
  );
}

function BulkFields(props: {
  approvals: readonly ApprovalView[];
  reason: string;
  setReason: (reason: string) => void;
  isTogether: boolean;
  setTogether: (isTogether: boolean) => void;
}): ReactNode {
  const needsReason = props.approvals.some(({ requirement }) => requirement.requireReason.length > 0);
  return (
    <>
      <label className="cs-field">
        <span className="cs-label">Reason {needsReason ? '(some of them need one)' : '(optional)'}</span>
        <input value={props.reason} maxLength={8192} onChange={(event) => props.setReason(event.target.value)} />
      </label>
      <label className="cs-check">
        <input
          type="checkbox"
          checked={props.isTogether}
          onChange={(event) => props.setTogether(event.target.checked)}
        />
        All or nothing: if one cannot be answered, none is
      </label>
    </>
  );
}

function BulkButton(props: {
  type: BulkType;
  isOff: boolean;
  approvals: readonly ApprovalView[];
  preview: BulkPreview;
  onChoose: () => void;
}): ReactNode {
  const { type, isOff, approvals, preview, onChoose } = props;
  const possible = possibleIn(approvals, preview, type);
  const count = possible.length;
  const isReady = preview[type] !== undefined && count > 0;
  if (type === 'approve' && possible.some(({ risk }) => risk === 'high')) {
    return (
      <HoldButton
        className="cs-button cs-approve"
        isOff={isOff || !isReady}
        confirm={`Approve all ${String(count)}`}
        onDone={onChoose}
      >
        Approve {count}
      </HoldButton>
    );
  }
  return (
    <button className={`cs-button cs-${type}`} type="button" disabled={isOff || !isReady} onClick={onPress(onChoose)}>
      {type === 'approve' ? 'Approve' : 'Deny'} {count}
    </button>
  );
}
