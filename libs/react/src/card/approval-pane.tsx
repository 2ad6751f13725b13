import { useEffect, useMemo, useRef, useState } from 'react';
import type { ReactNode, RefObject } from 'react';
import type { ApprovalView } from '@countersign/contracts';
import { endedWords } from '@countersign/text';
import { readCall } from '../client/approvals.js';
import { useAccount } from '../live/use-account.js';
import { useClient } from '../live/use-client.js';
import { useLoaded } from '../live/use-loaded.js';
import { useNow } from '../live/use-now.js';
import { channelWords, problemWords } from '../text/words.js';
import { AfterDecision } from './after-decision.js';
import { ApprovalCard } from './approval-card.js';
import { ChangeNotice, SiblingNotice } from './change-notice.js';
import { DecisionPanel } from './decision-panel.js';
import { ownPartWords } from './own-answer.js';
import { SeenParts, useSeen } from './seen.js';
import { SiblingsContext } from './siblings-shown.js';
import { isEdit, isOwnChange, useChange, useSiblingChanges } from './use-change.js';
import { useApproval } from './use-approval.js';

/** What stands around a card. */
interface PaneProps {
  /** Called when this person's answer has ended the approval, or is sent in a moment. */
  readonly onDecided?: ((approval: ApprovalView) => void) | undefined;
  /** Stands above the card, such as the way back to a list. */
  readonly head?: ReactNode;
}

/** A card and what can be decided on it. */
export function ApprovalPane({ approvalId, ...around }: PaneProps & { readonly approvalId: string }): ReactNode {
  const { approval, problem } = useApproval(approvalId);
  const { principal } = useAccount();
  const nowMs = useNow();
  // What one person has seen and written is not another one's.
  if (approval !== undefined) return <LoadedPane key={principal} approval={approval} {...around} />;
  return (
    <div className="cs-root cs-pane" aria-busy={problem === undefined}>
      {around.head}
      {problem !== undefined && (
        <p className="cs-notice" role="alert">
          {problem.code === 'unknown-approval' ? 'There is no such approval.' : problemWords(problem, nowMs)}
        </p>
      )}
    </div>
  );
}

function LoadedPane({ approval: read, onDecided, head }: PaneProps & { readonly approval: ApprovalView }): ReactNode {
  const [isMine, setMine] = useState(false);
  const { principal } = useAccount();
  const siblings = useSiblingChanges();
  const { shownOthersDigest, ...approval } = read;
  const { change, acknowledge } = useChange(approval);
  // An answer is bound to the other calls as they stand on the card.
  const shown = boundTo(approval, siblings.digest ?? shownOthersDigest);
  const step = useRefused(shown.shownOthersDigest, siblings);
  const { state: seen, context } = useSeen(approval.shownDigest);
  const isPending = approval.state === 'pending';
  const wasPending = useRef(isPending);
  if (isPending) wasPending.current = true;
  const root = useRef<HTMLDivElement>(null);
  useKeptFocus(root, answeredOf(approval, isMine, wasPending.current));
  const onAcknowledge = (): void => acknowledge(approval);
  const onRecorded = (answered: ApprovalView): void => {
    setMine(true);
    if (isOwnChange(approval, answered, principal)) acknowledge(answered);
  };
  return (
    <div ref={root} className="cs-root cs-pane">
      <div className="cs-pane-scroll">
        {head}
        {!isPending && <Ended approval={approval} isMissed={!isMine && wasPending.current} />}
        {change !== undefined && <ChangeNotice {...{ approval, change, onAcknowledge }} />}
        {isPending && (
          <SiblingNotice approval={approval} changes={siblings.changes} onAcknowledge={siblings.acknowledge} />
        )}
        <SeenParts context={isPending ? context : undefined}>
          <SiblingsContext.Provider value={step.listener}>
            <CardWithVerdict approval={approval} />
          </SiblingsContext.Provider>
        </SeenParts>
      </div>
      {isPending && (
        <DecisionPanel
          {...{ change, onAcknowledge, seen }}
          approval={shown}
          isOff={step.isOff}
          onSent={(answered) => {
            onRecorded(answered);
            if (answered.state !== 'pending') onDecided?.(answered);
          }}
          onOthersChanged={step.onRefused}
          onHeld={() => onDecided?.(approval)}
          onHeldSent={onRecorded}
        />
      )}
    </div>
  );
}

/** While another call is read again because of a refused answer, the card has the old one. */
function useRefused(digest: string | undefined, { changes, onShown }: ReturnType<typeof useSiblingChanges>) {
  const [refused, setRefused] = useState<string>();
  const listener = useMemo(() => ({ onShown, refused }), [onShown, refused]);
  const isOff = changes.length > 0 || (refused !== undefined && digest === refused);
  return { isOff, listener, onRefused: () => setRefused(digest) };
}

function boundTo(approval: ApprovalView, shownOthersDigest: string | undefined): ApprovalView {
  return shownOthersDigest === undefined ? approval : { ...approval, shownOthersDigest };
}

/** Changes with what comes of a card that was open for decisions. */
function answeredOf({ state, responses }: ApprovalView, isMine: boolean, wasPending: boolean): string | undefined {
  return isMine || (state !== 'pending' && wasPending) ? `${state} ${String(responses.length)}` : undefined;
}

/** With the button that a person has pressed their focus would go to the top of the page: it goes to what has come of it. */
function useKeptFocus(root: RefObject<HTMLElement | null>, answered: string | undefined): void {
  useEffect(() => {
    if (answered === undefined || document.activeElement !== document.body) return;
    root.current
      ?.querySelector<HTMLElement>('.cs-pane-scroll > [role="status"], .cs-decision')
      ?.focus({ preventScroll: true });
  }, [root, answered]);
}

/** The end of the approval, and the outcome of the call. */
function Ended({ approval, isMissed }: { approval: ApprovalView; isMissed: boolean }): ReactNode {
  const nowMs = useNow();
  const { principal } = useAccount();
  return (
    <>
      <p className="cs-notice" role="status" tabIndex={-1} data-state={approval.state}>
        {endedWords(approval, nowMs, channelWords)} {isMissed && ownPartWords(approval, principal)}
      </p>
      <AfterDecision approval={approval} />
    </>
  );
}

/** The call shown next to the approval names the rule. */
function CardWithVerdict({ approval }: { approval: ApprovalView }): ReactNode {
  const client = useClient();
  const { value } = useLoaded(`${approval.callId} ${approval.state}`, (signal) =>
    readCall(client, approval.callId, signal),
  );
  // While an edit waits for more people, the call has what was requested.
  const isEdited = approval.state === 'pending' && approval.proposal.kind === 'run' && isEdit(approval);
  const original = value?.originalArguments ?? (isEdited ? value?.arguments : undefined);
  return <ApprovalCard approval={approval} verdict={value?.verdict} original={original} />;
}
