import type { GrantIndex, History, PendingCall } from '@countersign/commands';
import { currentApproval, queuedIn } from '@countersign/domain';
import type { Approval, Counted, Grant, ToolCall } from '@countersign/domain';
import type { Defence } from './defences.ts';

/** What is recorded, as a read model without delay would have it. */
export interface Recorded {
  calls: readonly ToolCall[];
  grants: readonly Grant[];
}

const isPending = (call: ToolCall): boolean => currentApproval(call)?.resolution.status === 'pending';

/** People will be asked when its turn comes. */
const asksAtTurn = (call: ToolCall): boolean => (queuedIn(call)?.question ?? null) !== null;

/** The history of the agents, for quotas and batches. */
export function historyOf(recorded: Recorded, without: Defence | null): History {
  const isOf = ({ request }: ToolCall, { requestedBy, agentId }: Counted): boolean =>
    (request.requestedBy === requestedBy || without === 'own-quotas') &&
    (agentId === undefined || request.agentId === agentId || without === 'own-quotas');
  const approvalsOf = (of: Counted): readonly Approval[] =>
    recorded.calls.filter((call) => isOf(call, of)).flatMap(({ approvals }) => approvals);
  return {
    pendingOf: (_, of, atMost) =>
      Math.min(atMost, recorded.calls.filter((call) => isOf(call, of) && (isPending(call) || asksAtTurn(call))).length),
    denialsInARow: (_, of, atMost) => denialsInARow(approvalsOf(of), atMost),
    pendingCalls: (_, { runId, toolName, ...of }) =>
      recorded.calls
        .filter((call) => isOf(call, of) && isPending(call))
        .filter(({ request }) => without !== 'every-tool' || request.toolName === 'pay')
        .filter(({ request }) => request.runId === runId && request.toolName === toolName)
        .map(toPendingCall),
    callsOfBatch: (_, { requestedBy, runId, batchId }) =>
      recorded.calls
        .map(({ request }) => request)
        .filter((one) => one.batchMode === 'all-or-nothing' && one.batchId === batchId && one.runId === runId)
        .filter((one) => one.requestedBy === requestedBy || without === 'own-batches')
        .map(({ callId }) => callId),
    factsOfRun: () => ({ calls: 0, denied: 0, startedAt: null }),
  };
}

function toPendingCall(call: ToolCall): PendingCall {
  const { callId, toolCallId, requestedBy, arguments: args, sensitive } = call.request;
  const approvalId = currentApproval(call)?.approvalId ?? '';
  return { callId, toolCallId, approvalId, arguments: args, sensitive, requestedBy };
}

function denialsInARow(approvals: readonly Approval[], atMost: number): readonly string[] {
  const ended = approvals.toSorted((one, other) => orderOf(one) - orderOf(other));
  const last = ended.findLastIndex(
    ({ resolution, votes }) =>
      resolution.status === 'approved' && votes.some(({ automatic, status }) => status === 'counted' && !automatic),
  );
  return ended
    .slice(last + 1)
    .flatMap(({ resolution }) => (resolution.status === 'denied' ? [resolution.at] : []))
    .toReversed()
    .slice(0, atMost);
}

function orderOf({ requestedAt }: Approval): number {
  return Date.parse(requestedAt);
}

/** The grants that are neither revoked nor expired, the oldest first. */
export function grantIndexOf(recorded: Recorded, without: Defence | null): GrantIndex {
  const live = (at: number): readonly Grant[] =>
    recorded.grants
      .filter(({ status, terms }) => status !== 'revoked' && Date.parse(terms.expiresAt) > at)
      .map((grant) => changed(grant, without));
  return {
    live: (_, toolName, at) =>
      without === 'own-tool'
        ? live(at).map((grant) => ({ ...grant, terms: { ...grant.terms, toolName } }))
        : live(at).filter(({ terms }) => terms.toolName === toolName),
    liveCount: (_, at) => live(at).length,
  };
}

function changed(grant: Grant, without: Defence | null): Grant {
  const { requestedBy: _, ...terms } = grant.terms;
  switch (without) {
    case 'hidden-equality':
      // As if the author of a digest had seen the values.
      return { ...grant, terms: { ...grant.terms, approvalId: grant.terms.approvalId ?? 'apr_seen' } };
    case 'own-grants':
      return { ...grant, terms };
    default:
      return grant;
  }
}
