import { useRef, useState } from 'react';
import type { ReactNode } from 'react';
import type { ApprovalView } from '@countersign/contracts';
import { readCall } from '../api/countersign.js';
import { useAccount } from '../live/use-account.js';
import { useLoaded } from '../live/use-loaded.js';
import { useNow } from '../live/use-now.js';
import { hrefs } from '../routes.js';
import { Icon } from '../shell/icons.js';
import { endedWords, problemWords } from '../text/words.js';
import { Link } from '../ui/link.js';
import { AfterDecision } from './after-decision.js';
import { ApprovalCard } from './approval-card.js';
import { ChangeNotice } from './change-notice.js';
import { DecisionPanel } from './decision-panel.js';
import { SeenParts, useSeen } from './seen.js';
import { isOwnChange, useChange } from './use-change.js';
import { useApproval } from './use-approval.js';

/** A card and what can be decided on it. */
export function ApprovalPane({ approvalId, onDecided }: { approvalId: string; onDecided: () => void }): ReactNode {
  const { approval, problem } = useApproval(approvalId);
  const nowMs = useNow();
  if (approval !== undefined) return <LoadedPane approval={approval} onDecided={onDecided} />;
  return (
    <div className="pane" aria-busy={problem === undefined}>
      <Back />
      {problem !== undefined && (
        <p className="notice" role="alert">
          {problem.code === 'unknown-approval' ? 'There is no such approval.' : problemWords(problem, nowMs)}
        </p>
      )}
    </div>
  );
}

function Back(): ReactNode {
  return (
    <Link href={hrefs.pending} className="button quiet back">
      <Icon name="back" /> All pending
    </Link>
  );
}

function LoadedPane({ approval, onDecided }: { approval: ApprovalView; onDecided: () => void }): ReactNode {
  const [isMine, setMine] = useState(false);
  const { principal } = useAccount();
  const { change, acknowledge } = useChange(approval);
  const { state: seen, context } = useSeen(approval.shownDigest);
  const isPending = approval.state === 'pending';
  const wasPending = useRef(isPending);
  if (isPending) wasPending.current = true;
  const onAcknowledge = (): void => acknowledge(approval);
  return (
    <div className="pane">
      <div className="pane-scroll">
        <Back />
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
            setMine(true);
            if (isOwnChange(approval, answered, principal)) acknowledge(answered);
            if (answered.state !== 'pending') onDecided();
          }}
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
      <p className="notice" role="status" data-state={approval.state}>
        {endedWords(approval, nowMs)} {isMissed && 'Nothing of yours was sent.'}
      </p>
      <AfterDecision approval={approval} />
    </>
  );
}

/** The call shown next to the approval names the rule. */
function CardWithVerdict({ approval }: { approval: ApprovalView }): ReactNode {
  const { value } = useLoaded(`${approval.callId} ${approval.state}`, (signal) => readCall(approval.callId, signal));
  return <ApprovalCard approval={approval} verdict={value?.verdict} original={value?.originalArguments} />;
}
