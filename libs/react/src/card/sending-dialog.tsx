import type { ReactNode } from 'react';
import type { ApprovalView } from '@countersign/contracts';
import { Dialog } from '../ui/dialog.js';
import { HoldButton } from '../ui/hold-button.js';
import { onPress } from '../ui/press.js';
import { ChangeNotice } from './change-notice.js';
import type { Change } from './use-change.js';

/** The context of a dialog that sends one decision. */
export interface SendingProps<T> {
  readonly approval: ApprovalView;
  /** The change that came while the dialog was open. */
  readonly change: Change | undefined;
  readonly onAcknowledge: () => void;
  /** Why it was refused, in words. */
  readonly problem: string;
  readonly isBusy: boolean;
  readonly onClose: () => void;
  readonly onSend: (value: T) => Promise<void>;
}

/** The button that sends. */
interface Send {
  readonly label: string;
  readonly isReady: boolean;
  /** It acts after it was held for a moment. */
  readonly isHeld?: boolean;
  readonly now: () => void;
}

/** A dialog that sends one decision: the content, the error, Cancel, and the button that sends. */
export function SendingDialog(props: {
  title: string;
  description: string;
  size?: 'small' | 'large';
  problem: string;
  approval: ApprovalView;
  change: Change | undefined;
  onAcknowledge: () => void;
  send: Send;
  onClose: () => void;
  children: ReactNode;
}): ReactNode {
  const {
    title,
    description,
    size = 'small',
    problem,
    approval,
    change,
    onAcknowledge,
    send,
    onClose,
    children,
  } = props;
  return (
    <Dialog title={title} description={description} size={size} onClose={onClose}>
      {change !== undefined && <ChangeNotice {...{ approval, change, onAcknowledge }} />}
      {children}
      <p className="cs-problem-line" role="alert">
        {problem}
      </p>
      <div className="cs-actions">
        <button className="cs-button" type="button" onClick={onClose}>
          Cancel
        </button>
        <SendButton send={{ ...send, isReady: send.isReady && change === undefined }} />
      </div>
    </Dialog>
  );
}

function SendButton({ send: { label, isReady, isHeld = false, now } }: { send: Send }): ReactNode {
  if (isHeld) {
    return (
      <HoldButton className="cs-button cs-approve" isOff={!isReady} confirm="Approve them" onDone={now}>
        {label}
      </HoldButton>
    );
  }
  return (
    <button className="cs-button cs-approve" type="button" disabled={!isReady} onClick={onPress(now)}>
      {label}
    </button>
  );
}
