import { useRef, useState } from 'react';
import type { ReactNode } from 'react';
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
import { ChangeNotice } from './change-notice.js';
import { DecisionPanel } from './decision-panel.js';
import { SeenParts, useSeen } from './seen.js';
import { isEdit, isOwnChange, useChange } from './use-change.js';
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
  const nowMs = useNow();
  if (approval !== undefined) return <LoadedPane approval={approval} {...around} />;
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

function LoadedPane({ approval, onDecided, head }: PaneProps & { readonly approval: ApprovalView }): ReactNode {
  const [isMine, setMine] = useState(false);
  const { principal } = useAccount();
  const { change, acknowledge } = useChange(approval);
  const { state: seen, context } = useSeen(approval.shownDigest);
  const isPending = approval.state === 'pending';
  const wasPending = useRef(isPending);
  if (isPending) wasPending.current = true;
  const onAcknowledge = (): void => acknowledge(approval);
  const onRecorded = (answered: ApprovalView): void => {
    setMine(true);
    if (isOwnChange(approval, answered, principal)) acknowledge(answered);
  };
  return (
    <div className="cs-root cs-pane">
      <div className="cs-pane-scroll">
        {head}
        {!isPending && <Ended approval={approval} isMissed={!isMine && wasPending.current} />}
        {change !== undefined && <ChangeNotice change={change} onAcknowledge={onAcknowledge} />}
        <SeenParts context={isPending ? context : undefined}>
          <CardWithVerdict approval={approval} />
        </SeenParts>
      </div>
      {isPending && (
        <DecisionPanel
          {...{ approval, change, onAcknowledge, seen }}
          onSent={(answered) => {
            onRecorded(answered);
            if (answered.state !== 'pending') onDecided?.(answered);
          }}
          onHeld={() => onDecided?.(approval)}
          onHeldSent={onRecorded}
        />
      )}
    </div>
  );
}

/** The end of the approval, and the outcome of the call. */
function Ended({ approval, isMissed }: { approval: ApprovalView; isMissed: boolean }): ReactNode {
  const nowMs = useNow();
  return (
    <>
      <p className="cs-notice" role="status" data-state={approval.state}>
        {endedWords(approval, nowMs, channelWords)} {isMissed && 'Nothing of yours was sent.'}
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
