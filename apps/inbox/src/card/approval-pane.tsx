import { useRef, useState } from 'react';
import type { ReactNode } from 'react';
import type { ApprovalView } from '@countersign/contracts';
import { readCall } from '../api/countersign.js';
import { useLoaded } from '../live/use-loaded.js';
import { useNow } from '../live/use-now.js';
import { hrefs } from '../routes.js';
import { Icon } from '../shell/icons.js';
import { endedWords, problemWords } from '../text/words.js';
import { Link } from '../ui/link.js';
import { AfterDecision } from './after-decision.js';
import { ApprovalCard } from './approval-card.js';
import { DecisionPanel } from './decision-panel.js';
import { useApproval } from './use-approval.js';

/** A card and what can be decided on it. */
export function ApprovalPane({ approvalId, onDecided }: { approvalId: string; onDecided: () => void }): ReactNode {
  const { approval, problem } = useApproval(approvalId);
  const [isMine, setMine] = useState(false);
  const nowMs = useNow();
  const wasPending = useRef(false);
  if (approval?.state === 'pending') wasPending.current = true;
  const back = (
    <Link href={hrefs.pending} className="button quiet back">
      <Icon name="back" /> All pending
    </Link>
  );
  if (approval === undefined) {
    return (
      <div className="pane" aria-busy={problem === undefined}>
        {back}
        {problem !== undefined && (
          <p className="notice" role="alert">
            {problem.code === 'unknown-approval' ? 'There is no such approval.' : problemWords(problem, nowMs)}
          </p>
        )}
      </div>
    );
  }
  return (
    <div className="pane">
      <div className="pane-scroll">
        {back}
        {approval.state !== 'pending' && <Ended approval={approval} isMissed={!isMine && wasPending.current} />}
        <CardWithVerdict approval={approval} />
      </div>
      {approval.state === 'pending' && (
        <DecisionPanel
          approval={approval}
          onSent={(answered) => {
            setMine(true);
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
