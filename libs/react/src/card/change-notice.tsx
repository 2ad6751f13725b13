import { useLayoutEffect, useRef } from 'react';
import type { ReactNode } from 'react';
import { Name } from '../ui/marked.js';
import { onPress } from '../ui/press.js';
import { ArgumentsChange } from './arguments-change.js';
import { Answer, Instructions } from './told.js';
import type { Change, SiblingChange } from './use-change.js';

/** Says what has changed since the person looked. Nothing can be decided until the person acknowledges it. */
export function ChangeNotice({ change, onAcknowledge }: { change: Change; onAcknowledge: () => void }): ReactNode {
  const notice = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    if (notice.current === null) return;
    // The focus leaves a button whose meaning has changed.
    if (isOnButton(dialogOf(notice.current))) notice.current.focus();
    notice.current.scrollIntoView({ block: 'nearest' });
  }, [change.after, change.instructions]);
  const acknowledge = (): void => {
    document.querySelector<HTMLElement>('[aria-label="Your decision"]')?.focus();
    onAcknowledge();
  };
  const isAnswer = change.proposal.kind === 'answer';
  return (
    <section
      ref={notice}
      className="cs-notice cs-change-notice"
      role="alert"
      tabIndex={-1}
      aria-label="What has changed"
    >
      <p>
        <strong>This has changed since you looked.</strong> <What change={change} /> Nothing of yours was sent.
      </p>
      {!change.isToldAlone &&
        (isAnswer ? (
          <Answer proposal={change.proposal} />
        ) : (
          <ArgumentsChange before={change.before} after={change.after} />
        ))}
      {change.instructions.length > 0 && <Instructions instructions={change.instructions} />}
      <button type="button" className="cs-button" onClick={onPress(acknowledge)}>
        I have seen the change
      </button>
    </section>
  );
}

/** The same for the calls that run together with the one on the card. */
export function SiblingNotice(props: { changes: readonly SiblingChange[]; onAcknowledge: () => void }): ReactNode {
  if (props.changes.length === 0) return null;
  return (
    <section className="cs-notice cs-change-notice" role="alert" aria-label="What has changed in the step">
      <p>
        <strong>Another call of the step has changed since you looked.</strong> It runs together with this one. Nothing
        of yours was sent.
      </p>
      {props.changes.map(({ before, after }) => (
        <div key={after.callId}>
          <Name text={after.toolName} />
          <ArgumentsChange before={before.arguments} after={after.arguments} />
          {after.approval?.proposal.kind === 'answer' && <Answer proposal={after.approval.proposal} />}
        </div>
      ))}
      <button type="button" className="cs-button" onClick={onPress(props.onAcknowledge)}>
        I have seen the change
      </button>
    </section>
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
