import { Suspense, lazy, useRef, useState } from 'react';
import type { ReactNode } from 'react';
import type { ApprovalView, Decision, DecisionType } from '@countersign/contracts';
import { readApproval, respond, withdraw } from '../api/countersign.js';
import type { Remarks } from '../api/countersign.js';
import { problemOf } from '../api/problem.js';
import { useAccount } from '../live/use-account.js';
import { usePendingStore } from '../live/use-pending.js';
import { useShortcuts } from '../live/use-shortcuts.js';
import { problemWords, sentWords } from '../text/words.js';
import { useToast } from '../ui/toast.js';
import { AnswerDialog } from './answer-dialog.js';

const EditDialog = lazy(() => import('./edit-dialog.js'));

/** What a person decides, at the foot of the card: always in the same place. */
export function DecisionPanel(props: { approval: ApprovalView; onSent: (approval: ApprovalView) => void }): ReactNode {
  const { approval } = props;
  const { roles, principal } = useAccount();
  const [remarks, setRemarks] = useState<Remarks>({ reason: '', instruction: '' });
  const [open, setOpen] = useState<'edit' | 'answer'>();
  const { send, isBusy, problem } = useSending(approval, remarks, props.onSent);
  const reason = useRef<HTMLInputElement>(null);
  const buttons = { approve: useRef<HTMLButtonElement>(null), deny: useRef<HTMLButtonElement>(null) };
  const may = (type: DecisionType) => approval.allowedDecisions.includes(type);
  const needsReason = (type: DecisionType) => approval.requirement.requireReason.includes(type);
  const decide = (decision: Decision): void => {
    if (needsReason(decision.type) && remarks.reason.trim() === '') reason.current?.focus();
    void send(decision);
  };
  // A key alone decides nothing: it goes to the button, and Enter presses it.
  useShortcuts({
    a: () => buttons.approve.current?.focus(),
    d: () => buttons.deny.current?.focus(),
    e: () => may('edit') && setOpen('edit'),
    r: () => may('answer') && setOpen('answer'),
  });
  if (!roles.includes('approver')) {
    return <p className="decision-note muted">You can look, not decide: your account lacks the role approver.</p>;
  }
  const mine = approval.responses.find(({ respondedBy }) => respondedBy === principal);
  const required = approval.requirement.requireReason;
  return (
    <section className="decision" aria-label="Your decision">
      <p className="problem-line" role="alert">
        {problem}
      </p>
      {mine === undefined ? (
        <>
          <RemarkFields remarks={remarks} onChange={setRemarks} required={required} reasonRef={reason} />
          <div className="actions">
            {may('deny') && (
              <button
                ref={buttons.deny}
                className="button deny"
                type="button"
                disabled={isBusy}
                aria-keyshortcuts="d"
                onClick={() => decide({ type: 'deny' })}
              >
                Deny
              </button>
            )}
            <span className="actions-gap" />
            {may('answer') && (
              <button className="button" type="button" disabled={isBusy} onClick={() => setOpen('answer')}>
                Answer…
              </button>
            )}
            {may('edit') && (
              <button className="button" type="button" disabled={isBusy} onClick={() => setOpen('edit')}>
                Edit…
              </button>
            )}
            {may('approve') && (
              <button
                ref={buttons.approve}
                className="button approve"
                type="button"
                disabled={isBusy}
                aria-keyshortcuts="a"
                onClick={() => decide({ type: 'approve' })}
              >
                Approve
              </button>
            )}
          </div>
        </>
      ) : (
        <Voted approval={approval} />
      )}
      {open === 'edit' && (
        <Suspense fallback={null}>
          <EditDialog
            approval={approval}
            problem={problem}
            isBusy={isBusy}
            onClose={() => setOpen(undefined)}
            onSend={(value) => send({ type: 'edit', arguments: value })}
          />
        </Suspense>
      )}
      {open === 'answer' && (
        <AnswerDialog
          approval={approval}
          problem={problem}
          isBusy={isBusy}
          onClose={() => setOpen(undefined)}
          onSend={(output) => send({ type: 'answer', output })}
        />
      )}
    </section>
  );
}

/** Sends one decision at a time, says what came of it, and looks again where it came too late. */
function useSending(approval: ApprovalView, remarks: Remarks, onSent: (approval: ApprovalView) => void) {
  const store = usePendingStore();
  const toast = useToast();
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const send = async (decision: Decision): Promise<void> => {
    if (isBusy) return;
    setBusy(true);
    setProblem('');
    try {
      const answered = await respond(approval, decision, remarks);
      toast({ tone: decision.type === 'deny' ? 'neutral' : 'good', text: sentWords(decision.type, answered) });
      store.apply(answered);
      onSent(answered);
    } catch (error) {
      const refused = problemOf(error);
      const words = problemWords(refused, Date.now());
      setProblem(words);
      if (['already-resolved', 'expired', 'digest-mismatch'].includes(refused.code)) {
        toast({ tone: 'bad', text: words });
        await readApproval(approval.approvalId).then(store.apply, () => undefined);
      }
    }
    setBusy(false);
  };
  return { send, isBusy, problem };
}

function RemarkFields(props: {
  remarks: Remarks;
  onChange: (remarks: Remarks) => void;
  required: readonly DecisionType[];
  reasonRef: React.RefObject<HTMLInputElement | null>;
}): ReactNode {
  const { remarks, onChange, required, reasonRef } = props;
  const hint = required.length === 0 ? 'optional' : `needed to ${required.join(' or ')}`;
  return (
    <div className="remarks">
      <label className="field">
        <span className="label">
          Reason <span className="muted">({hint})</span>
        </span>
        <input
          ref={reasonRef}
          value={remarks.reason}
          maxLength={8192}
          onChange={(event) => onChange({ ...remarks, reason: event.target.value })}
          onKeyDown={(event) => event.key === 'Escape' && event.currentTarget.blur()}
        />
      </label>
      <label className="field">
        <span className="label">
          Instruction to the agent <span className="muted">(optional)</span>
        </span>
        <input
          value={remarks.instruction}
          maxLength={8192}
          onChange={(event) => onChange({ ...remarks, instruction: event.target.value })}
          onKeyDown={(event) => event.key === 'Escape' && event.currentTarget.blur()}
        />
      </label>
    </div>
  );
}

/** One person, one vote; while others are still asked it can be taken back. */
function Voted({ approval }: { approval: ApprovalView }): ReactNode {
  const store = usePendingStore();
  const [problem, setProblem] = useState('');
  const takeBack = (): void => {
    withdraw(approval.approvalId).then(store.apply, (error: unknown) => {
      setProblem(problemWords(problemOf(error), Date.now()));
    });
  };
  return (
    <div className="actions">
      <span>Your answer is recorded. More people must answer.</span>
      <span className="actions-gap" />
      <button className="button" type="button" onClick={takeBack}>
        Take it back
      </button>
      <span className="problem-line" role="alert">
        {problem}
      </span>
    </div>
  );
}
