import type { ToolCallView } from '@countersign/contracts';
import { z } from 'zod';

const text = z.string().nullable();

/** The response of the one person whose approval permits the call as it was requested. */
const approvedSchema = z.looseObject({
  approvalId: z.string(),
  actionDigest: z.string(),
  decision: z.looseObject({ type: z.literal('approve') }),
  resolution: z.literal('approved'),
  respondedBy: z.string(),
  onBehalfOf: text,
  reason: text,
  instruction: text,
  respondedAt: z.string(),
  via: z.string(),
});

/**
 * Returns the view of a pending call after `ApprovalResponded`; undefined when only the ledger can tell it: after an
 * edit, with several people or stages, and for a call that the client runs, which no claim protects.
 *
 * The revision stays that of the ledger's last word, because the event may be forged.
 */
export function afterApproval(view: ToolCallView, data: object): ToolCallView | undefined {
  const parsed = approvedSchema.safeParse(data);
  const { approval } = view;
  if (!parsed.success || approval?.state !== 'pending' || view.clientExecuted === true) return undefined;
  const { approvalId, actionDigest, instruction, respondedBy, onBehalfOf, reason, respondedAt, via } = parsed.data;
  if (approvalId !== approval.approvalId || actionDigest !== view.actionDigest) return undefined;
  if (approval.requirement.stages.length > 1 || approval.responses.length > 0) return undefined;
  return {
    ...view,
    state: 'approved',
    instruction: instruction ?? view.instruction,
    approval: {
      ...approval,
      state: 'approved',
      callState: 'approved',
      resolution: 'approved',
      resolvedAt: respondedAt,
      responses: [{ respondedBy, onBehalfOf, decision: { type: 'approve' }, reason, respondedAt, via, counted: true }],
      progress: approval.progress.map((stage) => ({ ...stage, approvedBy: [respondedBy], missing: 0, missingOf: [] })),
      upcoming: [],
    },
  };
}
