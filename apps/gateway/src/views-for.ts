import { allApproversOf, lostVotes, mayDecide, missingApprovers, othersDigestOf } from '@countersign/commands';
import type { Actor } from '@countersign/commands';
import { shownDigest } from '@countersign/contracts';
import type { ApprovalView, RunView, ToolCallView } from '@countersign/contracts';
import { instructionsOf, progressOf } from '@countersign/domain';
import type { Approval, PossibleApprover, ToolCall } from '@countersign/domain';
import { toApprovalView, toRunView, toToolCallView } from '@countersign/read-model';
import type { ApprovalOfCall, CallRow } from '@countersign/read-model';
import type { GatewayPorts } from './ports.js';
import { visibilityFor } from './visibility.js';
import type { ShownValues } from './visibility.js';

type ViewPorts = Pick<GatewayPorts, 'commands' | 'clock'> & {
  readonly readModel: Pick<GatewayPorts['readModel'], 'firstInQueueOf' | 'toolCall'>;
};

/** Calls and approvals as one caller sees them, with what the caller may do. For one answer: people may change. */
export interface ViewsFor {
  /** What an approval's view says of the caller. */
  readonly mayDecide: (row: ApprovalOfCall) => NonNullable<ApprovalView['mayDecide']>;
  readonly approval: (row: ApprovalOfCall) => ApprovalView;
  /** An approval as everybody may see it, with masks, and with the votes that count now. */
  readonly masked: (row: ApprovalOfCall) => ApprovalView;
  readonly call: (call: CallRow) => ToolCallView;
  readonly run: (runId: string, calls: readonly CallRow[]) => RunView;
}

/** The views of one answer. */
export function viewsFor(
  { commands, clock, readModel }: ViewPorts,
  actor: Actor,
  values: ShownValues = 'masked',
): ViewsFor {
  const ports = { ...commands, clock };
  let approvers: readonly PossibleApprover[] | null | undefined;
  // The rules about people read nothing that the row leaves in the log.
  const toolCall = (row: CallRow) => row as unknown as ToolCall;
  const mayDecideNow = (row: CallRow, { approvalId }: Approval) =>
    mayDecide(ports, actor, toolCall(row), approvalId, row.unreadable);
  const standing = (row: CallRow, approval: Approval): Pick<ApprovalView, 'mayDecide' | 'noApproverLeft'> => {
    const mine = { mayDecide: mayDecideNow(row, approval) };
    if (approval.resolution.status !== 'pending') return mine;
    approvers ??= allApproversOf(ports, actor.tenant);
    const missing = missingApprovers(ports, toolCall(row), approval, approvers);
    return missing === null ? mine : { ...mine, noApproverLeft: missing };
  };
  const others = (row: CallRow, approval: Approval): Pick<ApprovalView, 'shownOthersDigest'> => {
    if (approval.resolution.status !== 'pending') return {};
    const digest = othersDigestOf(row, (callId) => readable(readModel.toolCall(actor.tenant, callId)));
    return digest === undefined ? {} : { shownOthersDigest: digest };
  };
  const withStanding = (row: CallRow, approval: Approval, view: ApprovalView): ApprovalView => ({
    ...view,
    ...others(row, approval),
    ...standing(row, approval),
    ...withoutLost(view, lostVotes(ports, toolCall(row), approval)),
  });
  const toCall = (row: CallRow, shown: ToolCallView): ToolCallView => {
    const view = { ...shown, ...heldBy(readModel, row, shown) };
    const approval = row.approvals.at(-1);
    if (approval === undefined || view.approval === null) return view;
    return { ...view, approval: withStanding(row, approval, view.approval) };
  };
  const visibility = (row: CallRow) => visibilityFor(actor, row, values);
  return {
    mayDecide: ({ call, approval }) => mayDecideNow(call, approval),
    approval: ({ call, approval }) =>
      withStanding(call, approval, toApprovalView({ call, approval }, visibility(call))),
    masked: ({ call, approval }) => {
      const view = toApprovalView({ call, approval }, 'masked');
      return {
        ...view,
        ...others(call, approval),
        ...withoutLost(view, lostVotes(ports, toolCall(call), approval)),
      };
    },
    call: (row) => toCall(row, toToolCallView(row, visibility(row))),
    run: (runId, rows) => {
      const byId = new Map(rows.map((row) => [row.request.callId, row]));
      const view = toRunView(runId, rows, visibility);
      const pendingApprovals = view.pendingApprovals.map((one) => {
        const row = byId.get(one.callId);
        const approval = row?.approvals.find(({ approvalId }) => approvalId === one.approvalId);
        return row === undefined || approval === undefined ? one : withStanding(row, approval, one);
      });
      const calls = view.calls.map((one, index) => {
        const row = rows[index];
        return row === undefined ? one : toCall(row, one);
      });
      return { ...view, pendingApprovals, calls };
    },
  };
}

/** The call that keeps the turn for which this one waits, although nobody can read it. */
function heldBy(
  readModel: ViewPorts['readModel'],
  { request: { tenant, callId } }: CallRow,
  { waitsForTurn }: ToolCallView,
): Pick<ToolCallView, 'heldBy'> {
  const first = waitsForTurn === true ? readModel.firstInQueueOf(tenant, callId) : undefined;
  const isUnreadable = first !== undefined && (readModel.toolCall(tenant, first.callId)?.unreadable ?? null) !== null;
  return isUnreadable ? { heldBy: first.callId } : {};
}

/** Responses that would not count if it were decided now: their people have lost the right, or their credential is gone. */
function withoutLost(
  { responses, proposal }: ApprovalView,
  lost: ReturnType<typeof lostVotes>,
): Partial<Pick<ApprovalView, 'responses' | 'progress' | 'instructions' | 'shownDigest'>> {
  if (lost === null) return {};
  const { numbers, now } = lost;
  const instructions = [...instructionsOf(now)];
  return {
    responses: responses.map((one) => (numbers.includes(one.number) ? { ...one, counted: false } : one)),
    progress: progressOf(now),
    instructions,
    shownDigest: shownDigest(proposal.digest, instructions),
  };
}

/** Nothing is said of a call that was set aside: what it proposes now is not known. */
function readable(row: CallRow | undefined): CallRow | undefined {
  return row?.unreadable === null ? row : undefined;
}
