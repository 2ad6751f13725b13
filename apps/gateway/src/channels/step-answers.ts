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
  }));
}

/** Approves each of the questions, or none. A press that is repeated after a crash in between approves the others. */
export async function approveAll(
  commands: CommandPorts,
  actor: Actor,
  asked: readonly Shown[],
  { commandId, ...body }: { readonly decision: Decision; readonly reason?: string; readonly commandId: string },
): Promise<AnswerResult | Refusal> {
  const approvalIds = asked.map(({ approvalId }) => approvalId);
  const shownDigests = Object.fromEntries(asked.map((one) => [one.approvalId, one.shownDigest]));
  const bulk = { ...body, approvalIds, shownDigests, mode: 'all-or-nothing' } as const;
  const outcome = await respondInBulk(commands, actor, bulk, commandId);
  if (outcome.status === 'refused') return outcome.refusal;
  const refused = outcome.value.find((one) => one.status === 'refused');
  return refused?.status === 'refused' ? refused.refusal : { status: 'recorded' };
}
