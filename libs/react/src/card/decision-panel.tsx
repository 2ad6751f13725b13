import { Suspense, lazy, useEffect, useRef, useState } from 'react';
import type { ReactNode, RefObject } from 'react';
import type { ApprovalView } from '@countersign/contracts';
import { needsSignature, printable } from '@countersign/text';
import type { Remarks } from '../client/approvals.js';
import { useOutboxState } from '../live/outbox.js';
import { useSurroundings } from '../live/surroundings.js';
import { useAccount } from '../live/use-account.js';
import { useClient } from '../live/use-client.js';
import { AnswerDialog } from './answer-dialog.js';
import { DecisionForm } from './decision-form.js';
import { excludedWords } from './excluded-words.js';
import { countedAnswer } from './own-answer.js';
import { RememberFields, canRemember, useRemember } from './remember.js';
import type { SeenState } from './seen.js';
import type { Change } from './use-change.js';
import { useSending } from './use-sending.js';
import { Voted } from './voted.js';

const EditDialog = lazy(() => import('./edit-dialog.js'));

interface DecisionProps {
  readonly approval: ApprovalView;
  /** The change since the person looked. Until they acknowledge it, the buttons are off. */
  readonly change: Change | undefined;
  readonly onAcknowledge: () => void;
  /** True while the buttons are off for another reason, such as a change of another call of the step. */
  readonly isOff?: boolean;
  readonly seen: SeenState;
  readonly onSent: (approval: ApprovalView) => void;
  readonly onOthersChanged: () => void;
  /** The decision is held: it is sent in a moment, unless the person takes it back. */
  readonly onHeld: () => void;
  readonly onHeldSent: (approval: ApprovalView) => void;
}

/** The decision buttons at the foot of the card, always in the same place. */
export function DecisionPanel(props: DecisionProps): ReactNode {
  const { approval, change, onAcknowledge, seen } = props;
  const { principal } = useAccount();
  const { canRemember: mayRemember = false } = useSurroundings();
  const [remarks, setRemarks] = useState<Remarks>({ reason: '', instruction: '' });
  const [open, setOpen] = useState<'edit' | 'answer'>();
  const [draft, keepDraft] = useDraft(approval.shownDigest);
  const [remember, setRemember] = useRemember(approval.actionDigest);
  const { onOthersChanged, onHeld, onHeldSent } = props;
  const onSent = (answered: ApprovalView): void => {
    setOpen(undefined);
    props.onSent(answered);
  };
  const {
    send,
    isBusy: isSending,
    problem,
  } = useSending(approval, { remarks, remember }, { onSent, onOthersChanged, onHeld, onHeldSent });
  const panel = useRefusalFocus(problem);
  const isBusy = [isSending, props.isOff].includes(true);
  const mine = countedAnswer(approval, principal);
  const excluded = useExcluded(approval, mine !== undefined);
  const short = approval.noApproverLeft && (
    <p className="cs-decision-note">{printable(approval.noApproverLeft.detail)}</p>
  );
  if (excluded !== undefined) {
    return (
      <>
        {short}
        <p className="cs-decision-note cs-muted">{excluded}</p>
      </>
    );
  }
  const close = (text?: string): void => {
    keepDraft(text);
    setOpen(undefined);
  };
  const dialog = { approval, change, onAcknowledge, problem, isBusy, onClose: () => close() };
  return (
    <section ref={panel} className="cs-decision" aria-label="Your decision" tabIndex={-1}>
      {short}
      <p className="cs-problem-line" role="alert">
        {problem}
      </p>
      {mine === undefined ? (
        <DecisionForm
          {...{ approval, seen, remarks }}
          isOff={isBusy || change !== undefined}
          onRemarks={setRemarks}
          onDecide={(decision) => void send(decision)}
          onOpen={setOpen}
        >
          {mayRemember && canRemember(approval) && (
            <RememberFields key={approval.actionDigest} {...{ approval, remember }} onChange={setRemember} />
          )}
        </DecisionForm>
      ) : (
        <Voted approval={approval} response={mine.number} />
      )}
      {open === 'edit' && (
        <Suspense fallback={null}>
          <EditDialog
            {...dialog}
            cardSeen={seen}
            draft={draft}
            onLookBack={close}
            onSend={(value) => send({ type: 'edit', arguments: value })}
          />
        </Suspense>
      )}
      {open === 'answer' && <AnswerDialog {...dialog} onSend={(output) => send({ type: 'answer', output })} />}
    </section>
  );
}

/** The button that was pressed is off while its answer is on its way, and loses the focus. */
function useRefusalFocus(problem: string): RefObject<HTMLElement | null> {
  const panel = useRef<HTMLElement>(null);
  useEffect(() => {
    if (problem !== '' && document.activeElement === document.body) panel.current?.focus({ preventScroll: true });
  }, [problem]);
  return panel;
}

/** The text of an edit that the person left to look at the rest of the card, while the card is the same. */
function useDraft(of: string): readonly [string | undefined, (text: string | undefined) => void] {
  const [kept, setKept] = useState<{ readonly of: string; readonly text: string | undefined }>();
  return [kept?.of === of ? kept.text : undefined, (text) => setKept({ of, text })];
}

const signElsewhere = 'Only answers that are signed with a passkey count. Give yours in the inbox of Countersign.';

/** Why the person cannot decide now; undefined: they can, or have answered. */
function useExcluded(approval: ApprovalView, hasAnswered: boolean): string | undefined {
  const account = useAccount();
  const { held } = useOutboxState();
  const { sign } = useClient();
  const isHeld = held.some((one) => one.approval.approvalId === approval.approvalId);
  if (isHeld) return 'Your decision is sent in a moment.';
  const mustSign = !hasAnswered && sign === undefined && needsSignature(approval.requirement);
  return excludedWords(account, approval, hasAnswered) ?? (mustSign ? signElsewhere : undefined);
}
