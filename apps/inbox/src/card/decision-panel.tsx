import { Suspense, lazy, useRef, useState } from 'react';
import type { ReactNode, Ref } from 'react';
import type { ApprovalView, Decision, DecisionType, Remember } from '@countersign/contracts';
import { printable } from '@countersign/text';
import { readApproval, respond, withdraw } from '../api/countersign.js';
import type { Remarks } from '../api/countersign.js';
import { problemOf } from '../api/problem.js';
import { useAccount } from '../live/use-account.js';
import { usePendingStore } from '../live/use-pending.js';
import { useShortcuts } from '../live/use-shortcuts.js';
import { problemWords, sentWords } from '../text/words.js';
import { onPress } from '../ui/press.js';
import { useToast } from '../ui/toast.js';
import { AnswerDialog } from './answer-dialog.js';
import { RemarkFields } from './remark-fields.js';
import { RememberFields, canRemember } from './remember.js';
import { Unseen } from './seen.js';
import type { SeenState } from './seen.js';
import type { Change } from './use-change.js';

const EditDialog = lazy(() => import('./edit-dialog.js'));

interface DecisionProps {
  readonly approval: ApprovalView;
  /** The change since the person looked. Until they acknowledge it, the buttons are off. */
  readonly change: Change | undefined;
  readonly onAcknowledge: () => void;
  readonly seen: SeenState;
  readonly onSent: (approval: ApprovalView) => void;
}

/** The decision buttons at the foot of the card, always in the same place. */
export function DecisionPanel(props: DecisionProps): ReactNode {
  const { approval, change, onAcknowledge, seen } = props;
  const { roles, principal } = useAccount();
  const [remarks, setRemarks] = useState<Remarks>({ reason: '', instruction: '' });
  const [writtenFor, setWrittenFor] = useState(approval.shownDigest);
  const [open, setOpen] = useState<'edit' | 'answer'>();
  const [remember, setRemember] = useRemember(approval.actionDigest);
  const { send, isBusy, problem } = useSending(approval, { remarks, remember }, (answered) => {
    setOpen(undefined);
    props.onSent(answered);
  });
  const reason = useRef<HTMLInputElement>(null);
  const buttons = { approve: useRef<HTMLButtonElement>(null), deny: useRef<HTMLButtonElement>(null) };
  const mine = approval.responses.find(({ respondedBy, counted }) => counted && respondedBy === principal);
  const may = (type: DecisionType) =>
    mine === undefined && change === undefined && approval.allowedDecisions.includes(type);
  const choice = { approval, isOff: isBusy || change !== undefined };
  const needsReason = (type: DecisionType) => approval.requirement.requireReason.includes(type);
  const decide = (decision: Decision): void => {
    if (needsReason(decision.type) && remarks.reason.trim() === '') reason.current?.focus();
    void send(decision);
  };
  // A key alone decides nothing: it moves the focus to the button, and Enter presses it.
  useShortcuts({
    a: () => (seen.isAll ? buttons.approve.current?.focus() : seen.pageOn()),
    d: () => buttons.deny.current?.focus(),
    e: () => may('edit') && setOpen('edit'),
    r: () => may('answer') && setOpen('answer'),
  });
  const excluded = excludedWords(roles, approval, mine !== undefined);
  const short = approval.noApproverLeft && <p className="decision-note">{printable(approval.noApproverLeft.detail)}</p>;
  if (excluded !== undefined) {
    return (
      <>
        {short}
        <p className="decision-note muted">{excluded}</p>
      </>
    );
  }
  const required = approval.requirement.requireReason;
  const dialog = { approval, change, onAcknowledge, problem, isBusy, onClose: () => setOpen(undefined) };
  const write = (written: Remarks): void => {
    setRemarks(written);
    setWrittenFor(approval.shownDigest);
  };
  return (
    <section className="decision" aria-label="Your decision" tabIndex={-1}>
      {short}
      <p className="problem-line" role="alert">
        {problem}
      </p>
      {mine === undefined ? (
        <>
          <RemarkFields
            {...{ remarks, required }}
            isOlder={writtenFor !== approval.shownDigest}
            onChange={write}
            reasonRef={reason}
          />
          {canRemember(approval) && (
            <RememberFields key={approval.actionDigest} {...{ approval, remember }} onChange={setRemember} />
          )}
          {approval.allowedDecisions.includes('approve') && (
            <Unseen seen={seen} words="What will run goes on below. You can approve it after its end was on screen." />
          )}
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
              isOff={choice.isOff || !seen.isAll}
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
        <Voted approval={approval} response={mine.number} />
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

/** Why the person cannot decide; undefined: they can, or have answered. */
function excludedWords(
  roles: readonly string[],
  { mayDecide }: ApprovalView,
  hasAnswered: boolean,
): string | undefined {
  if (mayDecide?.now === false && mayDecide.why === 'unreadable') return printable(mayDecide.detail);
  if (!roles.includes('approver')) return 'You can look, not decide: your account lacks the role approver.';
  if (hasAnswered || mayDecide?.now !== false || mayDecide.why === 'expired') return undefined;
  return printable(`You can look, not decide. ${mayDecide.detail}`);
}

/** The button of a decision, where the call allows it. */
function Choice(props: {
  approval: ApprovalView;
  type: DecisionType;
  shortcut: string;
  isOff: boolean;
  ref?: Ref<HTMLButtonElement>;
  onChoose: () => void;
  children: ReactNode;
}): ReactNode {
  const { approval, type, shortcut, isOff, onChoose, ref, children } = props;
  if (!approval.allowedDecisions.includes(type)) return null;
  return (
    <button
      ref={ref}
      className={`button ${type}`}
      type="button"
      disabled={isOff}
      aria-keyshortcuts={shortcut}
      onClick={onPress(onChoose)}
    >
      {children}
    </button>
  );
}

/** Signs the answer where its rule, or that of edited arguments, counts only signed ones. The code for it is loaded then. */
async function respondSigned(
  approval: ApprovalView,
  decision: Decision,
  remarks: Remarks,
  remember: Remember | undefined,
): Promise<ApprovalView> {
  const { requireSignature, minAssurance } = approval.requirement;
  const signed = async (): Promise<ApprovalView> => {
    const { signAnswer } = await import('../passkeys/passkeys.js');
    const signature = await signAnswer(approval, decision, remarks.instruction);
    return respond(approval, decision, remarks, { remember, signature });
  };
  if (requireSignature === true || minAssurance === 'high') return signed();
  try {
    return await respond(approval, decision, remarks, { remember });
  } catch (error) {
    if (problemOf(error).code === 'signature-required') return signed();
    throw error;
  }
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
      const answered = await respondSigned(approval, decision, remarks, remember);
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

/** A choice for later calls. Made for other arguments, it is not kept. */
function useRemember(digest: string): readonly [Remember | undefined, (chosen: Remember | undefined) => void] {
  const [chosen, setChosen] = useState<{ readonly digest: string; readonly remember: Remember | undefined }>();
  const remember = chosen?.digest === digest ? chosen.remember : undefined;
  return [remember, (next) => setChosen({ digest, remember: next })];
}

/** One person has one vote. It can be withdrawn while others are still needed. */
function Voted({ approval, response }: { approval: ApprovalView; response: number }): ReactNode {
  const store = usePendingStore();
  const [problem, setProblem] = useState('');
  const takeBack = (): void => {
    withdraw(approval.approvalId, response).then(store.apply, (error: unknown) => {
      setProblem(problemWords(problemOf(error), Date.now()));
    });
  };
  return (
    <div className="actions">
      <span>Your answer is recorded. More people must answer.</span>
      <span className="actions-gap" />
      <button className="button" type="button" onClick={onPress(takeBack)}>
        Take it back
      </button>
      <span className="problem-line" role="alert">
        {problem}
      </span>
    </div>
  );
}
