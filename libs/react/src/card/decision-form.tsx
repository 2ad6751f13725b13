import { useRef, useState } from 'react';
import type { ReactNode, Ref } from 'react';
import type { ApprovalView, Decision, DecisionType } from '@countersign/contracts';
import { denialWords, nameWords } from '@countersign/text';
import type { Remarks } from '../client/approvals.js';
import { useSurroundings } from '../live/surroundings.js';
import { useShortcuts } from '../live/use-shortcuts.js';
import { HoldButton } from '../ui/hold-button.js';
import { onPress } from '../ui/press.js';
import { RemarkFields } from './remark-fields.js';
import { Unseen } from './seen.js';
import type { SeenState } from './seen.js';

/** What a person writes with a decision, and the buttons. */
export function DecisionForm(props: {
  readonly approval: ApprovalView;
  /** True while nothing can be decided: a decision is on its way, or the card has changed. */
  readonly isOff: boolean;
  readonly seen: SeenState;
  readonly remarks: Remarks;
  readonly onRemarks: (remarks: Remarks) => void;
  readonly onDecide: (decision: Decision) => void;
  readonly onOpen: (dialog: 'edit' | 'answer') => void;
  readonly children: ReactNode;
}): ReactNode {
  const { approval, isOff, seen, remarks, onRemarks, onDecide, onOpen, children } = props;
  const { allowedDecisions, requirement, shownDigest } = approval;
  const [writtenFor, setWrittenFor] = useState(shownDigest);
  const reason = useRef<HTMLInputElement>(null);
  const approve = useRef<HTMLButtonElement>(null);
  const deny = useRef<HTMLButtonElement>(null);
  const may = (type: DecisionType): boolean => !isOff && allowedDecisions.includes(type);
  const decide = (type: 'approve' | 'deny') => () => {
    if (requirement.requireReason.includes(type) && remarks.reason.trim() === '') reason.current?.focus();
    onDecide({ type });
  };
  // A key alone decides nothing: it moves the focus to the button, and Enter presses it.
  const { hasShortcuts = false } = useSurroundings();
  const shortcuts = {
    a: () => (seen.isAll ? approve.current?.focus() : seen.pageOn()),
    d: () => deny.current?.focus(),
    e: () => may('edit') && onOpen('edit'),
    r: () => may('answer') && onOpen('answer'),
  };
  useShortcuts(hasShortcuts ? shortcuts : {});
  const choice = { approval, isOff };
  const denial = denialWords(requirement);
  return (
    <>
      <RemarkFields
        remarks={remarks}
        required={requirement.requireReason}
        isOlder={writtenFor !== shownDigest}
        onChange={(written) => {
          onRemarks(written);
          setWrittenFor(shownDigest);
        }}
        reasonRef={reason}
      />
      {children}
      {allowedDecisions.includes('approve') && (
        <Unseen seen={seen} words="There is more of what will run. You can approve it once all of it was on screen." />
      )}
      {denial !== '' && allowedDecisions.includes('deny') && <p className="cs-muted">A denial {denial}.</p>}
      <div className="cs-actions">
        <Choice {...choice} type="deny" shortcut="d" buttonRef={deny} onChoose={decide('deny')}>
          Deny
        </Choice>
        <span className="cs-actions-gap" />
        <Choice {...choice} type="answer" shortcut="r" onChoose={() => onOpen('answer')}>
          Answer…
        </Choice>
        <Choice {...choice} type="edit" shortcut="e" onChoose={() => onOpen('edit')}>
          Edit…
        </Choice>
        <Choice
          {...choice}
          isOff={isOff || !seen.isAll}
          isHeld={approval.risk === 'high'}
          type="approve"
          shortcut="a"
          buttonRef={approve}
          onChoose={decide('approve')}
        >
          Approve
        </Choice>
      </div>
    </>
  );
}

/** The button of a decision, where the call allows it. */
function Choice(props: {
  approval: ApprovalView;
  type: DecisionType;
  shortcut: string;
  isOff: boolean;
  /** It acts after it was held for a moment. */
  isHeld?: boolean;
  buttonRef?: Ref<HTMLButtonElement>;
  onChoose: () => void;
  children: ReactNode;
}): ReactNode {
  const { approval, type, shortcut, isOff, isHeld = false, onChoose, buttonRef, children } = props;
  if (!approval.allowedDecisions.includes(type)) return null;
  if (isHeld) {
    return (
      <HoldButton
        // What was pressed before a change is not what stands there now.
        key={approval.shownDigest}
        className={`cs-button cs-${type}`}
        confirm={`Approve ${nameWords(approval.toolName, 40)}`}
        onDone={onChoose}
        {...{ isOff, shortcut, buttonRef }}
      >
        {children}
      </HoldButton>
    );
  }
  return (
    <button
      ref={buttonRef}
      className={`cs-button cs-${type}`}
      type="button"
      disabled={isOff}
      aria-keyshortcuts={shortcut}
      onClick={onPress(onChoose)}
    >
      {children}
    </button>
  );
}
