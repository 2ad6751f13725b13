import type { StreamState } from '@countersign/audit';
import { currentApproval, currentProposal } from '@countersign/domain';
import type { Approval, Execution, Permission, ToolCall, ToolCallState } from '@countersign/domain';

type JudgedCall = Extract<StreamState, { readonly kind: 'call' }>;
type JudgedApproval = NonNullable<JudgedCall['approval']>;

/** How the rules of the product and the judge of the log differ about a call after the same events; undefined: they agree. */
export function differenceOf(call: ToolCallState, judged: StreamState | undefined): string | undefined {
  if (call.status !== 'recorded' || judged?.kind !== 'call') return `${call.status} is ${judged?.kind ?? 'nothing'}`;
  const [one, other] = [ofProduct(call), ofJudge(judged)].map((facts) => Object.entries(facts).map(toText));
  const at = one?.findIndex((text, index) => text !== other?.[index]) ?? -1;
  return at < 0 ? undefined : `${String(one?.[at])}, and for the judge ${String(other?.[at])}`;
}

function toText([name, value]: readonly [string, unknown]): string {
  return `${name} ${JSON.stringify(value)}`;
}

function ofProduct(call: ToolCall) {
  const { permission, execution, committed } = call;
  return {
    permission: permissionOf(permission),
    mayRun: permission.status === 'approved' ? [permission.actionDigest, permission.executeBy] : null,
    wasAllowed: permission.status === 'awaiting_approval' && permission.wasAllowed,
    waitsFor: waitsFor(permission),
    execution: executionOf(execution),
    lease: execution.status === 'claimed' ? [execution.claimedBy, execution.leaseUntil] : null,
    committed,
    ...approvalOf(currentApproval(call)),
  };
}

function permissionOf(permission: Permission): JudgedCall['permission'] {
  if (permission.status === 'expired') return permission.cause === 'lapsed' ? 'lapsed' : 'expired';
  return permission.status === 'awaiting_approval' ? 'awaiting' : permission.status;
}

function waitsFor(permission: Permission): 'allow' | 'require' | null {
  if (permission.status !== 'awaiting_approval' || permission.queued === undefined) return null;
  return permission.queued.question === null ? 'allow' : 'require';
}

function executionOf(execution: Execution): readonly unknown[] {
  if (execution.status === 'none') return ['none', 0];
  const isEnded = execution.status === 'succeeded' || execution.status === 'failed';
  return [isEnded ? 'ended' : execution.status, execution.attempt ?? 0];
}

function approvalOf(approval: Approval | undefined) {
  if (approval === undefined) return { approval: null };
  const { approvalId, round, resolution, votes } = approval;
  const { number, kind, action, requirements } = currentProposal(approval);
  const isPending = resolution.status === 'pending';
  const counted = votes.filter(({ status }) => status === 'counted');
  const voices = counted.map(({ respondedBy, onBehalfOf, decision, proposal }) => [
    ...[respondedBy, onBehalfOf, decision.type !== 'deny', proposal],
  ]);
  return {
    approval: [approvalId, round, isPending, number, kind],
    asked: [action.actionDigest, requirements],
    ends: isPending ? requirements.map((_, index) => endOf(approval, number, index)) : null,
    votes: isPending ? voices.toSorted() : null,
  };
}

/** The deadline of a requirement, which an escalation moves. */
function endOf({ escalations, proposals }: Approval, number: number, requirement: number): string | null {
  const moved = escalations.findLast((one) => one.proposal === number && one.requirement === requirement);
  return (moved ?? proposals.at(-1)?.clocks[requirement])?.expiresAt ?? null;
}

function ofJudge({ permission, execution, executeBy, actionDigest, approval, ...call }: JudgedCall) {
  return {
    permission,
    mayRun: permission === 'approved' ? [actionDigest, executeBy] : null,
    wasAllowed: permission === 'awaiting' && call.wasAllowed,
    waitsFor: call.queued?.next ?? null,
    execution: [execution.status, execution.attempt],
    lease: execution.status === 'claimed' ? [execution.claimedBy, execution.leaseUntil] : null,
    committed: call.isCommitted,
    ...(approval === null ? { approval } : ofJudgedApproval(approval)),
  };
}

function ofJudgedApproval({ approvalId, round, isPending, number, proposal, votes }: JudgedApproval) {
  const voices = votes.map(({ by, onBehalfOf, agrees, proposal: of }) => [by, onBehalfOf, agrees, of]);
  return {
    approval: [approvalId, round, isPending, number, proposal.kind],
    asked: [proposal.actionDigest, proposal.requirements],
    ends: isPending ? proposal.expiresAt : null,
    votes: isPending ? voices.toSorted() : null,
  };
}
