import { z } from 'zod';
import { decisionSchema } from './decision.js';
import { rememberSchema } from './grants.js';
import { answerSignatureSchema } from './passkey-events.js';
import { batchModeSchema, digestSchema, textSchema } from './primitives.js';
import { limits } from './requests.js';

/** `POST /v1/approvals/{approvalId}/responses`. */
export const respondSchema = z
  .strictObject({
    decision: decisionSchema,
    reason: textSchema.optional(),
    instruction: textSchema.optional(),
    proposalDigest: digestSchema.optional().meta({
      description: 'The digest of the proposal that you saw: another current proposal is answered `digest-mismatch`.',
    }),
    shownDigest: digestSchema.optional().meta({
      description:
        'The `shownDigest` of the approval that you saw: an instruction that came since is answered `digest-mismatch`. Without it, a response does not say whether its person saw the instructions.',
    }),
    shownRevision: z.int().min(1).optional().meta({
      description:
        'The `shownRevision` of the approval that you saw: a response to an earlier question is answered `digest-mismatch`. Send it where a message may be delayed or read again, as in a chat or on a bus.',
    }),
    shownOthersDigest: digestSchema.optional().meta({
      description:
        'The `shownOthersDigest` of the approval that you saw: where another call of the step that runs together was edited or answered since, an approval is answered `digest-mismatch`. A denial is not bound to it.',
    }),
    actionDigest: digestSchema.optional().meta({
      description:
        'The digest of the arguments that you saw: other ones are answered `digest-mismatch`. It says nothing about a proposed answer, so without a digest of the proposal it approves none.',
    }),
    signature: answerSignatureSchema.optional().meta({
      description:
        'The signature of this answer with a passkey of yours. An answer under a rule with `requireSignature`, or with `minAssurance: high`, needs it.',
    }),
    remember: rememberSchema.optional(),
  })
  .refine(({ decision, remember }) => remember === undefined || decision.type === 'approve', {
    path: ['remember'],
    error: 'needs the decision "approve": only an unchanged approval can be remembered',
  })
  .meta({
    id: 'Respond',
    if: { required: ['remember'], properties: { remember: { type: 'object' } } },
    then: { properties: { decision: { properties: { type: { enum: ['approve'] } } } } },
  });
export type RespondBody = z.infer<typeof respondSchema>;

const bindings = ['proposalDigests', 'shownDigests', 'shownRevisions', 'shownOthersDigests', 'actionDigests'] as const;

/** Attack: an id with a slip of the pen leaves the approval that is meant without its digest, and whatever it asks is approved. */
function refuseOtherDigests(
  { approvalIds, ...body }: { readonly approvalIds: readonly string[] } & BulkBindings,
  context: z.RefinementCtx,
): void {
  const named = new Set(approvalIds);
  for (const member of bindings) {
    for (const id of Object.keys(body[member] ?? {})) {
      const message = 'is not one of `approvalIds`, so this would bind nothing';
      if (!named.has(id)) context.addIssue({ code: 'custom', path: [member, id], message });
    }
  }
}

type BulkBindings = Readonly<
  Partial<Record<(typeof bindings)[number], Readonly<Record<string, string | number>> | undefined>>
>;

/** `POST /v1/approvals/responses`. */
export const respondInBulkSchema = z
  .strictObject({
    approvalIds: z.array(z.string().min(1).max(256)).min(1).max(limits.bulkResponsesMax),
    decision: decisionSchema,
    reason: textSchema.optional(),
    instruction: textSchema.optional(),
    mode: batchModeSchema.optional(),
    proposalDigests: z.record(z.string().min(1).max(256), digestSchema).optional().meta({
      description: 'The digest of the proposal that you saw, by approval: an approval with another one is refused.',
    }),
    shownDigests: z.record(z.string().min(1).max(256), digestSchema).optional().meta({
      description:
        'The `shownDigest` of the approval that you saw, by approval: an approval with another instruction is refused.',
    }),
    shownRevisions: z.record(z.string().min(1).max(256), z.int().min(1)).optional().meta({
      description:
        'The `shownRevision` of the approval that you saw, by approval: a response to an earlier question is refused.',
    }),
    shownOthersDigests: z.record(z.string().min(1).max(256), digestSchema).optional().meta({
      description:
        'The `shownOthersDigest` of the approval that you saw, by approval: an approval is refused where another call of its step was edited or answered since.',
    }),
    actionDigests: z.record(z.string().min(1).max(256), digestSchema).optional().meta({
      description: 'The digest of what you saw, by approval: an approval whose arguments have changed is refused.',
    }),
    dryRun: z
      .boolean()
      .optional()
      .meta({ description: 'Record nothing: each result is what the rules say now, `possible` or `rejected`.' }),
  })
  .superRefine(refuseOtherDigests)
  .meta({ id: 'RespondInBulk' });
export type RespondInBulkBody = z.infer<typeof respondInBulkSchema>;
