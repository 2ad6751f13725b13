import { z } from 'zod';
import { decisionSchema } from './decision.js';
import { jsonValueSchema } from './json.js';
import { batchModeSchema, timeSchema } from './primitives.js';

export const responseViewSchema = z
  .strictObject({
    number: z
      .int()
      .meta({ description: 'Its place among all responses to the approval, from 1: a withdrawal names it.' }),
    respondedBy: z.string(),
    respondedByName: z
      .string()
      .exactOptional()
      .meta({ description: 'What the front end of the person calls them. It proves nothing. Absent: nothing.' }),
    onBehalfOf: z.string().nullable().meta({ description: 'The person in whose place a delegate responded' }),
    decision: decisionSchema,
    reason: z.string().nullable(),
    respondedAt: timeSchema,
    via: z.string(),
    counted: z.boolean().meta({
      description: 'False: void, because the arguments were edited after it, or because the person responded again.',
    }),
    signed: z.literal(true).exactOptional().meta({
      description: 'The person signed it with a passkey. Absent: it is not signed.',
    }),
  })
  .meta({ id: 'Response', description: 'The response of one person to an approval.' });
export type ResponseView = z.infer<typeof responseViewSchema>;

export const hiddenValueSchema = z
  .strictObject({
    pointer: z.string().meta({
      description: 'JSON pointer (RFC 6901) of a value in `arguments`, or in the `output` of a proposed answer.',
    }),
    why: z
      .enum(['schema', 'name'])
      .meta({ description: "Who hides it: the tool schema that the agent sent, or the value's name." }),
  })
  .meta({ id: 'HiddenValue', description: 'A value that is masked for this reader.' });

export const batchViewSchema = z
  .strictObject({
    batchId: z.string().nullable(),
    mode: batchModeSchema,
    callIds: z.array(z.string()),
  })
  .meta({ id: 'Batch', description: 'The calls that were requested together.' });

export const stageProgressSchema = z
  .strictObject({
    approvedBy: z.array(z.string()),
    deniedBy: z.array(z.string()),
    missing: z.int().meta({ description: 'How many more people must agree.' }),
    missingOf: z
      .array(z.string())
      .nullable()
      .meta({ description: 'The groups that they come from, with those it was escalated to; null: every approver.' }),
  })
  .meta({ id: 'StageProgress', description: 'How far one stage of the requirement is.' });

/** How far one stage of the requirement is. */
export type StageProgress = z.infer<typeof stageProgressSchema>;

export const upcomingSchema = z
  .strictObject({
    kind: z.enum(['reminder', 'escalation', 'expiry', 'hold', 'automatic-approval']),
    at: timeSchema,
    to: z.array(z.string()).meta({ description: 'The groups that are asked as well after an escalation.' }),
  })
  .meta({ id: 'Upcoming', description: 'What happens automatically to a pending approval without a response.' });

/** The automatic steps of a pending approval without a response. */
export type Upcoming = z.infer<typeof upcomingSchema>;

const proposalKindSchema = z.enum(['run', 'answer']).meta({ id: 'ProposalKind' });

export const proposalViewSchema = z
  .strictObject({
    number: z.int().meta({ description: "1 is the agent's request." }),
    digest: z.string().meta({ description: 'Send it as `proposalDigest` with the response.' }),
    kind: proposalKindSchema.meta({
      description: '`run`: the tool with `arguments`. `answer`: the result `output` in its place.',
    }),
    output: jsonValueSchema.meta({ description: 'The proposed answer; null for a run.' }),
    hiddenValues: z.array(hiddenValueSchema).exactOptional().meta({
      description: 'Only with an answer: the values of `output` that are masked for this reader.',
    }),
    proposedBy: z.string(),
    proposedAt: timeSchema,
    replaces: z.int().nullable().meta({ description: 'The number of the proposal before it.' }),
  })
  .meta({
    id: 'Proposal',
    description: 'What people are asked to agree to. It never changes; an edit or an answer adds the next one.',
  });

export const mayDecideSchema = z
  .discriminatedUnion('now', [
    z.strictObject({ now: z.literal(true) }),
    z.strictObject({ now: z.literal(false), why: z.string(), detail: z.string() }),
  ])
  .meta({
    id: 'MayDecide',
    description:
      'Whether the caller may respond now, by all rules but those about the content; otherwise the code and the words of the refusal. Absent where there is no caller: at a past moment (`asOf`) and in messages of channels.',
  });

export const noApproverLeftSchema = z
  .strictObject({
    stage: z.int().meta({ description: 'The place of the stage in `progress`, from 0.' }),
    detail: z.string(),
  })
  .meta({
    id: 'NoApproverLeft',
    description:
      'Only where a pending approval cannot be satisfied any more: too few approvers are left for a stage. It is never approved by silence. Absent where the approvers are not known, because a sign-in provider gives the role.',
  });

export const instructionSchema = z
  .strictObject({
    respondedBy: z.string(),
    instruction: z.string(),
    ifDenied: z
      .literal(true)
      .optional()
      .meta({ description: 'It belongs to a denial: the agent is told it only if the approval is denied.' }),
  })
  .meta({ id: 'Instruction', description: 'What the agent is told if the proposal is approved, or denied.' });

export const endedProposalSchema = z
  .strictObject({
    approvalId: z.string(),
    number: z.int(),
    kind: proposalKindSchema,
    proposedBy: z.string(),
    proposedAt: timeSchema,
  })
  .meta({ id: 'EndedProposal', description: 'An edit or an answer that ended without an approval.' });
