import type { ReactNode } from 'react';
import type { ApprovalView, ToolCallState } from '@countersign/contracts';
import { readCall } from '../api/countersign.js';
import { useLoaded } from '../live/use-loaded.js';
import { useNews } from '../live/use-news.js';
import { hrefs } from '../routes.js';
import { StateBadge } from '../ui/badges.js';
import { Link } from '../ui/link.js';
import { Outcome } from '../ui/outcome.js';

const words: Readonly<Record<ToolCallState, string>> = {
  awaiting_approval: 'It waits for an answer.',
  allowed: 'It may run and has not started.',
  approved: 'It may run and has not started.',
  executing: 'The tool is running now.',
  succeeded: 'The tool ran.',
  failed: 'The tool ran and failed.',
  unknown: 'The tool may have run: its worker was lost. The call is not retried automatically.',
  blocked: 'The policy blocks it. The tool does not run.',
  denied: 'The tool does not run.',
  expired: 'The tool does not run.',
  cancelled: 'The tool does not run.',
};

/** The progress of the call after the decision: whether it ran, and the result. It is updated as events arrive. */
export function AfterDecision({ approval: { callId, approvalId } }: { approval: ApprovalView }): ReactNode {
  const { value: call, reload } = useLoaded(callId, (signal) => readCall(callId, signal));
  useNews({ callId }, reload);
  // An earlier round says nothing about what the call did later.
  if (call?.approval?.approvalId !== approvalId) return null;
  return (
    <section aria-labelledby="card-after" className="after">
      <h3 id="card-after">After the decision</h3>
      <p>
        <StateBadge state={call.state} /> {words[call.state]}{' '}
        {call.state === 'unknown' && <Link href={hrefs.unknown}>Unknown outcomes</Link>}
      </p>
      <Outcome call={call} />
    </section>
  );
}
