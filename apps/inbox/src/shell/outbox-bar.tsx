import { useEffect } from 'react';
import type { ReactNode } from 'react';
import { nameWords } from '@countersign/text';
import { onPress, useNow, useOutbox, useOutboxState, useShortcuts } from '@countersign/react/parts';
import type { HeldDecision, MissedDecision } from '@countersign/react/parts';
import { hrefs, navigate } from '../routes.js';
import { Link } from '../ui/link.js';

const shownMax = 4;

/** The decisions that are not sent yet, with the way to take each back; and those that were not recorded, with the reason. */
export function OutboxBar(): ReactNode {
  const outbox = useOutbox();
  const { held, missed } = useOutboxState();
  const undo = ({ approval: { approvalId } }: HeldDecision): void => {
    outbox?.undo(approvalId);
    navigate(hrefs.approval(approvalId), { replace: true });
  };
  const waiting = held.filter(({ dueMs }) => dueMs !== undefined);
  const last = waiting.at(-1);
  useShortcuts({ u: () => last !== undefined && undo(last) });
  useEffect(() => {
    // A page that is hidden may never be shown again: a phone ends it without a word.
    const onHidden = (): void => {
      if (document.visibilityState === 'hidden') void outbox?.flush({ isLeaving: true });
    };
    const onLeave = (): void => void outbox?.flush({ isLeaving: true });
    document.addEventListener('visibilitychange', onHidden);
    window.addEventListener('pagehide', onLeave);
    return () => {
      document.removeEventListener('visibilitychange', onHidden);
      window.removeEventListener('pagehide', onLeave);
    };
  }, [outbox]);
  return (
    <div className="outbox" role="region" aria-label="Not sent yet">
      <div role="status">
        {waiting.slice(-shownMax).map((one) => (
          <Held key={one.approval.approvalId} held={one} onUndo={() => undo(one)} />
        ))}
      </div>
      <div role="alert">
        {missed.slice(-shownMax).map((one) => (
          <Missed
            key={one.approval.approvalId}
            missed={one}
            onDismiss={() => outbox?.dismiss(one.approval.approvalId)}
          />
        ))}
      </div>
    </div>
  );
}

function Held({ held, onUndo }: { held: HeldDecision; onUndo: () => void }): ReactNode {
  const { approval, type, dueMs = 0 } = held;
  const seconds = Math.max(1, Math.ceil((dueMs - useNow()) / 1000));
  return (
    <p className="outbox-line">
      <span>
        {type === 'deny' ? 'Denying' : 'Approving'} {nameWords(approval.toolName, 60)}
      </span>
      {/* Not read out every second. */}
      <span className="cs-muted" aria-hidden="true">
        sent in {seconds} s
      </span>
      <button className="cs-button" type="button" aria-keyshortcuts="u" onClick={onPress(onUndo)}>
        Undo
      </button>
    </p>
  );
}

function Missed({ missed, onDismiss }: { missed: MissedDecision; onDismiss: () => void }): ReactNode {
  const { approval, words } = missed;
  return (
    <p className="outbox-line" data-tone="bad">
      <span>
        <Link href={hrefs.approval(approval.approvalId)}>{nameWords(approval.toolName, 60)}</Link>: {words}
      </span>
      <button className="cs-button" type="button" onClick={onDismiss}>
        Close
      </button>
    </p>
  );
}
