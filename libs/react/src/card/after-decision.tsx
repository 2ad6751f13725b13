import type { ReactNode } from 'react';
import type { ApprovalView, ToolCallState } from '@countersign/contracts';
import { readCall } from '../client/approvals.js';
import { useSurroundings } from '../live/surroundings.js';
import { useClient } from '../live/use-client.js';
import { useLoaded } from '../live/use-loaded.js';
import { useNews } from '../live/use-news.js';
import { StateBadge } from '../ui/badges.js';
import { LinkTo } from '../ui/link-to.js';
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
export function AfterDecision({ approval }: { approval: ApprovalView }): ReactNode {
  const { callId, approvalId } = approval;
  const isAnswer = approval.state === 'approved' && approval.proposal.kind === 'answer';
  const client = useClient();
  const { hrefs } = useSurroundings();
  const { value: call, reload } = useLoaded(callId, (signal) => readCall(client, callId, signal));
  const isOver = call !== undefined && call.settledAt !== null;
  useNews({ callId, isOver }, reload);
  // An earlier round says nothing about what the call did later.
  if (call?.approval?.approvalId !== approvalId) return null;
  return (
    <section aria-labelledby="card-after" className="cs-after">
      <h3 id="card-after">After the decision</h3>
      <p>
        <StateBadge state={call.state} />{' '}
        {isAnswer ? 'The tool does not run: the agent gets an answer in its place.' : words[call.state]}{' '}
        {call.state === 'unknown' && <LinkTo href={hrefs?.unknown}>Unknown outcomes</LinkTo>}
      </p>
      <Outcome call={call} />
    </section>
  );
}
