import type { AnswerResult, ChannelAnswer } from '@countersign/channels';
import { respondInBulk } from '@countersign/commands';
import type { Actor, CommandPorts } from '@countersign/commands';
import { parseApprovalId } from '@countersign/contracts';
import type { Decision, Refusal } from '@countersign/contracts';
import { askedTogether, toApprovalView, toStepQuestion } from '@countersign/read-model';
import type { CallRow } from '@countersign/read-model';

type Read = (callId: string) => Promise<CallRow | undefined>;

/** An approval, and the digest of what was shown of it. */
export interface Shown {
  readonly approvalId: string;
  readonly shownDigest: string;
  /** Who has a counted vote for what is shown: an approval, or the edit or answer itself. Absent: nobody. */
  readonly approvedBy?: readonly string[];
}

/**
 * The approvals about which an answer decides: those of the whole step where the rule asks about them together. Undefined:
 * what was shown has changed since. `reads`: the calls as a card may have shown them, with the votes that count now, or with all that
 * are recorded, which has all that the agent gets and more.
 */
export async function answered(
  reads: readonly Read[],
  answer: Pick<ChannelAnswer, 'approvalId' | 'shownDigest'>,
): Promise<readonly Shown[] | undefined> {
  for (const read of reads) {
    const shown = await answeredAs(read, answer);
    if (shown !== undefined) return shown;
  }
  return undefined;
}

async function answeredAs(
  read: Read,
  { approvalId, shownDigest }: Pick<ChannelAnswer, 'approvalId' | 'shownDigest'>,
): Promise<readonly Shown[] | undefined> {
  const alone = [{ approvalId, shownDigest }];
  const target = parseApprovalId(approvalId);
  const call = target === undefined ? undefined : await read(target.callId);
  const approval = call?.approvals.find((one) => one.approvalId === approvalId);
  if (call === undefined || approval === undefined) return alone;
  const { asked } = await askedTogether(read, { call, approval });
  const question = toStepQuestion({ call, approval }, asked);
  if (question.together === undefined) return alone;
  if (question.approval.shownDigest !== shownDigest) return undefined;
  return asked.map((one) => ({
    approvalId: one.approval.approvalId,
    shownDigest: toApprovalView(one, 'masked').shownDigest,
    approvedBy: one.approval.votes
      .filter(({ status, decision }) => status === 'counted' && decision.type !== 'deny')
      .map(({ respondedBy }) => respondedBy),
  }));
}

/**
 * Approves each of the questions on which the person's vote is missing, or none. An own vote for what is shown stands: after an edit of one
 * call both its author and those who had approved all have a vote on some. A press that is repeated after a crash in between approves the
 * others.
 */
export async function approveAll(
  commands: CommandPorts,
  actor: Actor,
  asked: readonly Shown[],
  { commandId, ...body }: { readonly decision: Decision; readonly reason?: string; readonly commandId: string },
): Promise<AnswerResult | Refusal> {
  const missing = asked.filter(({ approvedBy = [] }) => !approvedBy.includes(actor.principal));
  const approvalIds = (missing.length === 0 ? asked : missing).map(({ approvalId }) => approvalId);
  const shownDigests = Object.fromEntries(asked.map((one) => [one.approvalId, one.shownDigest]));
  const bulk = { ...body, approvalIds, shownDigests, mode: 'all-or-nothing' } as const;
  const outcome = await respondInBulk(commands, actor, bulk, commandId);
  if (outcome.status === 'refused') return outcome.refusal;
  // Where none is missing, this is the repeat of a press that approved some, or one too many.
  const isRepeat = missing.length === 0 && outcome.value.some(({ status }) => status === 'done');
  const refused = isRepeat ? undefined : outcome.value.find((one) => one.status === 'refused');
  return refused?.status === 'refused' ? refused.refusal : { status: 'recorded' };
}
