import { jcsDigest } from '@countersign/contracts';
import type { ApprovalView, ToolCallView } from '@countersign/contracts';
import { areEqualJson, requirementOf } from '@countersign/domain';
import type { Approval } from '@countersign/domain';
import type { CallRow } from './call-row.js';
import { toApprovalView, toToolCallView } from './views.js';

/** An approval with its call. */
export interface AskedCall {
  readonly call: CallRow;
  readonly approval: Approval;
}

/** The pending questions about one step that one response decides about, in the order of the step. */
export interface AskedTogether {
  readonly asked: readonly AskedCall[];
  /** False: calls of the step are not recorded yet, so nothing of it can run. */
  readonly isWhole: boolean;
}

const alone: AskedTogether = { asked: [], isWhole: true };

/**
 * The pending questions that the rule of an approval asks together (`batch: any-asks-all`). None where the rule asks about
 * each call by itself.
 * @param read returns the current row of a call of the tenant.
 */
export async function askedTogether(
  read: (callId: string) => Promise<CallRow | undefined>,
  { call, approval }: AskedCall,
): Promise<AskedTogether> {
  const { batchCallIds } = call.request;
  if (!asksAll(approval) || batchCallIds.length < 2) return alone;
  const rows = await Promise.all(
    batchCallIds.map(async (callId) => (callId === call.request.callId ? call : read(callId))),
  );
  const asked = rows.flatMap((row): AskedCall[] => {
    const last = row?.approvals.at(-1);
    return row !== undefined && last !== undefined && isTogether(row, last, { call, approval })
      ? [{ call: row, approval: last }]
      : [];
  });
  return { asked, isWhole: rows.every((row) => row !== undefined) };
}

function asksAll(approval: Approval): boolean {
  return requirementOf(approval).batch === 'any-asks-all';
}

/** Attack: an agent lists calls of another principal, or of another step, so that one press approves them. */
function isTogether(row: CallRow, own: Approval, { call, approval }: AskedCall): boolean {
  const { tenant, requestedBy, batchCallIds, labels } = row.request;
  // Labels may name the chat of a call: what is for one chat is not shown in another.
  const isOfStep =
    tenant === call.request.tenant &&
    requestedBy === call.request.requestedBy &&
    areEqualJson(labels, call.request.labels) &&
    JSON.stringify(batchCallIds) === JSON.stringify(call.request.batchCallIds);
  const isOfRule =
    own.verdict.ruleId === approval.verdict.ruleId && own.verdict.policyVersion === approval.verdict.policyVersion;
  return isOfStep && isOfRule && asksAll(own) && own.resolution.status === 'pending' && row.unreadable === null;
}

/** A question as channels show it, with the others that one response decides about. */
export interface StepQuestion {
  readonly call: ToolCallView;
  /** Its `shownDigest` covers all of them. */
  readonly approval: ApprovalView;
  readonly together?: readonly { readonly call: ToolCallView; readonly approval: ApprovalView }[];
}

/** The masked views of a question and of those that are asked with it; none of them is left out of the digest. */
export function toStepQuestion(own: AskedCall, asked: readonly AskedCall[]): StepQuestion {
  const question = viewsOf(own);
  const isOfStep = asked.some(({ approval }) => approval.approvalId === own.approval.approvalId);
  if (asked.length < 2 || !isOfStep) return question;
  const all = asked.map(viewsOf);
  const together = all.filter(({ approval }) => approval.approvalId !== own.approval.approvalId);
  const shownDigest = jcsDigest(all.map(({ approval }) => approval.shownDigest));
  return { call: question.call, approval: { ...question.approval, shownDigest }, together };
}

function viewsOf({ call, approval }: AskedCall) {
  return { call: toToolCallView(call, 'masked'), approval: toApprovalView({ call, approval }, 'masked') };
}
