import { Suspense, lazy, useRef, useState } from 'react';
import type { ReactNode, Ref, RefObject } from 'react';
import type { ApprovalView, Decision, DecisionType, Remember } from '@countersign/contracts';
import { readApproval, respond, withdraw } from '../api/countersign.js';
import type { Remarks } from '../api/countersign.js';
import { problemOf } from '../api/problem.js';
import { useAccount } from '../live/use-account.js';
import { usePendingStore } from '../live/use-pending.js';
import { useShortcuts } from '../live/use-shortcuts.js';
import { problemWords, sentWords } from '../text/words.js';
import { useToast } from '../ui/toast.js';
import { AnswerDialog } from './answer-dialog.js';
import { RememberFields, canRemember } from './remember.js';

const EditDialog = lazy(() => import('./edit-dialog.js'));

/** The decision buttons at the foot of the card, always in the same place. */
export function DecisionPanel(props: { approval: ApprovalView; onSent: (approval: ApprovalView) => void }): ReactNode {
  const { approval } = props;
  const { roles, principal } = useAccount();
  const [remarks, setRemarks] = useState<Remarks>({ reason: '', instruction: '' });
  const [open, setOpen] = useState<'edit' | 'answer'>();
  const [remember, setRemember] = useState<Remember>();
  const { send, isBusy, problem } = useSending(approval, { remarks, remember }, props.onSent);
  const reason = useRef<HTMLInputElement>(null);
  const buttons = { approve: useRef<HTMLButtonElement>(null), deny: useRef<HTMLButtonElement>(null) };
  const mine = approval.responses.find(({ respondedBy }) => respondedBy === principal);
  const may = (type: DecisionType) => mine === undefined && approval.allowedDecisions.includes(type);
  const choice = { approval, isBusy };
  const needsReason = (type: DecisionType) => approval.requirement.requireReason.includes(type);
  const decide = (decision: Decision): void => {
    if (needsReason(decision.type) && remarks.reason.trim() === '') reason.current?.focus();
    void send(decision);
  };
  // A key alone decides nothing: it moves the focus to the button, and Enter presses it.
  useShortcuts({
    a: () => buttons.approve.current?.focus(),
    d: () => buttons.deny.current?.focus(),
    e: () => may('edit') && setOpen('edit'),
    r: () => may('answer') && setOpen('answer'),
  });
  if (!roles.includes('approver')) {
    return <p className="decision-note muted">You can look, not decide: your account lacks the role approver.</p>;
  }
  const required = approval.requirement.requireReason;
  const dialog = { approval, problem, isBusy, onClose: () => setOpen(undefined) };
  return (
    <section className="decision" aria-label="Your decision">
      <p className="problem-line" role="alert">
        {problem}
      </p>
      {mine === undefined ? (
        <>
          <RemarkFields remarks={remarks} onChange={setRemarks} required={required} reasonRef={reason} />
          {canRemember(approval) && <RememberFields {...{ approval, remember }} onChange={setRemember} />}
          <div className="actions">
            <Choice {...choice} type="deny" shortcut="d" ref={buttons.deny} onChoose={() => decide({ type: 'deny' })}>
              Deny
            </Choice>
            <span className="actions-gap" />
            <Choice {...choice} type="answer" shortcut="r" onChoose={() => setOpen('answer')}>
              Answer…
            </Choice>
            <Choice {...choice} type="edit" shortcut="e" onChoose={() => setOpen('edit')}>
              Edit…
            </Choice>
            <Choice
              {...choice}
              type="approve"
              shortcut="a"
              ref={buttons.approve}
              onChoose={() => decide({ type: 'approve' })}
            >
              Approve
            </Choice>
          </div>
        </>
      ) : (
        <Voted approval={approval} />
      )}
      {open === 'edit' && (
        <Suspense fallback={null}>
          <EditDialog {...dialog} onSend={(value) => send({ type: 'edit', arguments: value })} />
        </Suspense>
      )}
      {open === 'answer' && <AnswerDialog {...dialog} onSend={(output) => send({ type: 'answer', output })} />}
    </section>
  );
}

/** The button of a decision, where the call allows it. */
function Choice(props: {
  approval: ApprovalView;
  type: DecisionType;
  shortcut: string;
  isBusy: boolean;
  ref?: Ref<HTMLButtonElement>;
  onChoose: () => void;
  children: ReactNode;
}): ReactNode {
  const { approval, type, shortcut, isBusy, onChoose, ref, children } = props;
  if (!approval.allowedDecisions.includes(type)) return null;
  return (
    <button
      ref={ref}
      className={`button ${type}`}
      type="button"
      disabled={isBusy}
      aria-keyshortcuts={shortcut}
      onClick={onChoose}
    >
      {children}
    </button>
  );
}

/** Sends one decision at a time, reports the result, and reloads when it was too late. */
function useSending(
  approval: ApprovalView,
  { remarks, remember }: { remarks: Remarks; remember: Remember | undefined },
  onSent: (approval: ApprovalView) => void,
) {
  const store = usePendingStore();
  const toast = useToast();
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const send = async (decision: Decision): Promise<void> => {
    if (isBusy) return;
    setBusy(true);
    setProblem('');
    try {
      const answered = await respond(approval, decision, remarks, remember);
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
  reasonRef: RefObject<HTMLInputElement | null>;
}): ReactNode {
  const { remarks, onChange, required, reasonRef } = props;
  const hint = required.length === 0 ? 'optional' : `needed to ${required.join(' or ')}`;
  const fields = [
    { name: 'reason', label: 'Reason', hint: `(${hint})`, ref: reasonRef },
    { name: 'instruction', label: 'Instruction', hint: 'to the agent (optional)', ref: undefined },
  ] as const;
  return (
    <div className="remarks">
      {fields.map((field) => (
        <label key={field.name} className="field">
          <span className="label">
            {field.label} <span className="muted">{field.hint}</span>
          </span>
          <input
            ref={field.ref}
            value={remarks[field.name]}
            maxLength={8192}
            onChange={(event) => onChange({ ...remarks, [field.name]: event.target.value })}
            onKeyDown={(event) => event.key === 'Escape' && event.currentTarget.blur()}
          />
        </label>
      ))}
    </div>
  );
}

/** One person has one vote. It can be withdrawn while others are still needed. */
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
