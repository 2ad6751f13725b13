import { useLayoutEffect, useMemo, useRef } from 'react';
import type { ReactNode } from 'react';
import type { ApprovalView } from '@countersign/contracts';
import { useAccount } from '../live/use-account.js';
import { Name } from '../ui/marked.js';
import { onPress } from '../ui/press.js';
import { ArgumentsChange } from './arguments-change.js';
import { ownAnswerWords } from './own-answer.js';
import { Answer, Instructions } from './told.js';
import { proposedBy } from './use-change.js';
import type { Change, SiblingChange } from './use-change.js';

interface NoticeProps {
  readonly label: string;
  /** What it tells: with another one it is told again. */
  readonly of: unknown;
  readonly onAcknowledge: () => void;
  readonly children: ReactNode;
}

/** Nothing can be decided until the person acknowledges it. */
function Notice({ label, of, onAcknowledge, children }: NoticeProps): ReactNode {
  const notice = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    if (notice.current === null) return;
    // The focus leaves a button whose meaning has changed.
    if (isOnButton(dialogOf(notice.current))) notice.current.focus();
    notice.current.scrollIntoView({ block: 'nearest' });
  }, [of]);
  const acknowledge = (): void => {
    document.querySelector<HTMLElement>('[aria-label="Your decision"]')?.focus();
    onAcknowledge();
  };
  return (
    <section ref={notice} className="cs-notice cs-change-notice" role="alert" tabIndex={-1} aria-label={label}>
      {children}
      <button type="button" className="cs-button" onClick={onPress(acknowledge)}>
        I have seen the change
      </button>
    </section>
  );
}

interface ChangeProps {
  readonly approval: ApprovalView;
  readonly change: Change;
  readonly onAcknowledge: () => void;
}

/** Says what has changed since the person looked. */
export function ChangeNotice({ approval, change, onAcknowledge }: ChangeProps): ReactNode {
  const { principal } = useAccount();
  const { after, instructions, proposal } = change;
  const of = useMemo(() => [after, instructions], [after, instructions]);
  return (
    <Notice label="What has changed" of={of} onAcknowledge={onAcknowledge}>
      <p>
        <strong>This has changed since you looked.</strong> <What change={change} />{' '}
        {ownAnswerWords(approval, principal)}
      </p>
      {!change.isToldAlone &&
        (proposal.kind === 'answer' ? (
          <Answer proposal={proposal} />
        ) : (
          <ArgumentsChange before={change.before} after={after} />
        ))}
      {instructions.length > 0 && <Instructions instructions={instructions} />}
    </Notice>
  );
}

interface SiblingProps {
  readonly approval: ApprovalView;
  readonly changes: readonly SiblingChange[];
  readonly onAcknowledge: () => void;
}

/** The same for the calls that run together with the one on the card. */
export function SiblingNotice({ approval, changes, onAcknowledge }: SiblingProps): ReactNode {
  const { principal } = useAccount();
  if (changes.length === 0) return null;
  const of = changes.map(({ after }) => `${after.callId} ${proposedBy(after)}`).join('\n');
  return (
    <Notice label="What has changed in the step" of={of} onAcknowledge={onAcknowledge}>
      <p>
        <strong>Another call of the step has changed since you looked.</strong> It runs together with this one.{' '}
        {ownAnswerWords(approval, principal)}
      </p>
      {changes.map(({ before, after }) => (
        <div key={after.callId}>
          <Name text={after.toolName} />
          <ArgumentsChange before={before.arguments} after={after.arguments} />
          {after.approval?.proposal.kind === 'answer' && <Answer proposal={after.approval.proposal} />}
        </div>
      ))}
    </Notice>
  );
}

function What({ change: { isToldAlone, ended, proposal } }: { change: Change }): ReactNode {
  if (isToldAlone) return 'The agent is told something else than you saw.';
  if (ended !== '') return `It is the agent’s request again: not approved was the ${ended}.`;
  return (
    <>
      <Name text={proposal.proposedBy} /> {proposal.kind === 'answer' ? 'proposes an answer in its place' : 'edited it'}
      .
    </>
  );
}

function dialogOf(element: Element): Element | null {
  return element.closest('[role="dialog"]');
}

/** Returns whether the focus is on a button that decides, in the same dialog or outside of all. */
function isOnButton(dialog: Element | null): boolean {
  const { activeElement } = document;
  return activeElement !== null && activeElement.closest('.cs-actions') !== null && dialogOf(activeElement) === dialog;
}
