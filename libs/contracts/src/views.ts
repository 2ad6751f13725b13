import { z } from 'zod';
import { jsonObjectSchema, jsonValueSchema } from './json.js';
import { chainLinkViewSchema } from './nesting.js';
import { batchModes, decisionTypeSchema, riskSchema, timeSchema } from './primitives.js';
import { requirementSchema, verdictSchema } from './requirement.js';

export const toolCallStates = [
  'allowed',
  'awaiting_approval',
  'approved',
  'blocked',
  'denied',
  'expired',
  'cancelled',
  'executing',
  'succeeded',
  'failed',
  'unknown',
] as const;

/** The state of a tool call. */
export type ToolCallState = (typeof toolCallStates)[number];

/** Decided: no approval is pending. */
export function isDecided(state: ToolCallState): boolean {
  return state !== 'awaiting_approval';
}

/** Settled: the call has a result. `unknown` counts as settled, because nothing more happens automatically. */
export function isSettled(state: ToolCallState): boolean {
  return isDecided(state) && state !== 'allowed' && state !== 'approved' && state !== 'executing';
}

export const approvalStates = ['pending', 'approved', 'denied', 'expired', 'cancelled'] as const;

/** The state or the outcome of an approval. */
export type ApprovalState = (typeof approvalStates)[number];

export const decisionViewSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('approve') }),
  z.strictObject({ type: z.literal('edit'), arguments: jsonObjectSchema }),
  z.strictObject({ type: z.literal('deny') }),
  z.strictObject({ type: z.literal('answer'), output: jsonValueSchema }),
]);

export const responseViewSchema = z.strictObject({
  number: z
    .int()
    .meta({ description: 'Its place among all responses to the approval, from 1: a withdrawal names it.' }),
  respondedBy: z.string(),
  onBehalfOf: z.string().nullable().meta({ description: 'The person in whose place a delegate responded' }),
  decision: decisionViewSchema,
  reason: z.string().nullable(),
  respondedAt: timeSchema,
  via: z.string(),
  counted: z.boolean().meta({
    description: 'False: void, because the arguments were edited after it, or because the person responded again.',
  }),
});
export type ResponseView = z.infer<typeof responseViewSchema>;

const hiddenValueSchema = z.strictObject({
  pointer: z.string().meta({ description: 'JSON pointer (RFC 6901) of a value in `arguments`.' }),
  why: z
    .enum(['schema', 'name'])
    .meta({ description: "Who hides it: the tool schema that the agent sent, or the value's name." }),
});

const batchViewSchema = z.strictObject({
  batchId: z.string().nullable(),
  mode: z.enum(batchModes),
  callIds: z.array(z.string()),
});

const stageProgressSchema = z
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

const upcomingSchema = z
  .strictObject({
    kind: z.enum(['reminder', 'escalation', 'expiry', 'hold', 'automatic-approval']),
    at: timeSchema,
    to: z.array(z.string()).meta({ description: 'The groups that are asked as well after an escalation.' }),
  })
  .meta({ id: 'Upcoming', description: 'What happens automatically to a pending approval without a response.' });

/** The automatic steps of a pending approval without a response. */
export type Upcoming = z.infer<typeof upcomingSchema>;

const proposalViewSchema = z
  .strictObject({
    number: z.int().meta({ description: "1 is the agent's request." }),
    digest: z.string().meta({ description: 'Send it as `proposalDigest` with the response.' }),
    kind: z.enum(['run', 'answer']).meta({
      description: '`run`: the tool with `arguments`. `answer`: the result `output` in its place.',
    }),
    output: jsonValueSchema.meta({ description: 'The proposed answer; null for a run.' }),
    proposedBy: z.string(),
    proposedAt: timeSchema,
    replaces: z.int().nullable().meta({ description: 'The number of the proposal before it.' }),
  })
  .meta({
    id: 'Proposal',
    description: 'What people are asked to agree to. It never changes; an edit or an answer adds the next one.',
  });

const mayDecideSchema = z
  .discriminatedUnion('now', [
    z.strictObject({ now: z.literal(true) }),
    z.strictObject({ now: z.literal(false), why: z.string(), detail: z.string() }),
  ])
  .meta({
    id: 'MayDecide',
    description:
      'Whether the caller may respond now, by all rules but those about the content; otherwise the code and the words of the refusal. Only where approvals are read: `GET /v1/approvals` and `GET /v1/approvals/{approvalId}`.',
  });

const instructionSchema = z
  .strictObject({ respondedBy: z.string(), instruction: z.string() })
  .meta({ id: 'Instruction', description: 'What the agent is told if the proposal is approved.' });

const endedProposalSchema = z
  .strictObject({
    approvalId: z.string(),
    number: z.int(),
    kind: z.enum(['run', 'answer']),
    proposedBy: z.string(),
    proposedAt: timeSchema,
  })
  .meta({ id: 'EndedProposal', description: 'An edit or an answer that ended without an approval.' });

export const approvalViewSchema = z
  .strictObject({
    approvalId: z.string(),
    callId: z.string(),
    runId: z.string(),
    agentId: z.string(),
    toolCallId: z.string(),
    /** The principal that asked. */
    requestedBy: z.string(),
    owner: z.string().nullable().meta({ description: 'The person responsible for the agent' }),
    onBehalfOf: z.string().nullable().meta({ description: 'The person for whom the agent says that it acts' }),
    /** Empty for a call that is not nested. */
    chain: z
      .array(chainLinkViewSchema)
      .meta({ description: 'The calls inside which this one runs, the outermost first' }),
    labels: z.record(z.string(), z.string()),
    /** The values that are masked for this reader. */
    hiddenValues: z.array(hiddenValueSchema),
    /** The calls that were requested together; null for a call on its own. */
    batch: batchViewSchema.nullable(),
    round: z.int(),
    state: z.enum(approvalStates),
    toolName: z.string(),
    arguments: jsonObjectSchema,
    actionDigest: z.string(),
    proposal: proposalViewSchema,
    shownDigest: z.string().meta({
      description:
        'The digest of the proposal and of `instructions` together: send it with the response. Without instructions it is that of the proposal.',
    }),
    instructions: z
      .array(instructionSchema)
      .meta({ description: 'Those of the votes that count for the current proposal.' }),
    endedProposals: z
      .array(endedProposalSchema)
      .meta({ description: 'Edits and answers of this call that ended without an approval; the last 16.' }),
    description: z.string().nullable(),
    reason: z.string().nullable(),
    requestedAt: timeSchema,
    expiresAt: timeSchema.nullable(),
    risk: riskSchema.nullable(),
    requirement: requirementSchema.meta({
      description:
        'All requirements of the current proposal as one: that of the rule that judged the request, and that of the rule that judges the edited arguments. Its stages are in the order of `progress`; `expiresAt` and `upcoming` know the end of each.',
    }),
    allowedDecisions: z.array(decisionTypeSchema),
    responses: z.array(responseViewSchema),
    /** By stage of the requirement, in order. */
    progress: z.array(stageProgressSchema),
    /** In order of time; empty when the approval has ended. */
    upcoming: z.array(upcomingSchema),
    mayDecide: mayDecideSchema.exactOptional(),
    isPreview: z.literal(true).exactOptional().meta({
      description: 'Parts are cut, with marks in their places. `GET /v1/approvals/{approvalId}` has the whole.',
    }),
    callState: z.enum(toolCallStates).meta({ description: 'The state of the call now: whether it ran.' }),
    resolution: z.enum(['approved', 'denied', 'expired', 'cancelled']).nullable(),
    resolvedAt: timeSchema.nullable(),
  })
  .meta({ id: 'Approval', description: 'One question put to people about a tool call.' });

/** One approval of a tool call, as returned over HTTP. */
export type ApprovalView = z.infer<typeof approvalViewSchema>;

export const revealedViewSchema = z
  .strictObject({ arguments: jsonObjectSchema })
  .meta({ id: 'RevealedArguments', description: 'The arguments of an approval with the hidden values shown.' });

/** The arguments of an approval with the hidden values shown. */
export type RevealedView = z.infer<typeof revealedViewSchema>;

export const toolCallViewSchema = z
  .strictObject({
    callId: z.string(),
    runId: z.string(),
    agentId: z.string(),
    batchId: z.string().nullable(),
    toolCallId: z.string(),
    toolName: z.string(),
    clientExecuted: z.literal(true).exactOptional().meta({
      description: "The user's client executes the call and submits its output. Absent: a worker executes it.",
    }),
    /** The arguments that will run: after an edit, the edited ones. */
    arguments: jsonObjectSchema,
    originalArguments: jsonObjectSchema.optional(),
    actionDigest: z.string(),
    state: z.enum(toolCallStates),
    verdict: verdictSchema,
    approval: approvalViewSchema.nullable(),
    output: jsonValueSchema,
    error: jsonValueSchema,
    instruction: z.string().nullable(),
    requestedAt: timeSchema,
    settledAt: timeSchema.nullable(),
    revision: z.int(),
    erasedValues: z.array(z.string()).exactOptional().meta({
      description:
        "JSON pointers, into the data of the call's events, of values that were erased: `[erased]` stands in their places. Absent: none.",
    }),
    missingValues: z.array(z.string()).exactOptional().meta({
      description:
        "JSON pointers, into the data of the call's events, of values whose key is lost: `[key missing]` stands in their places. Absent: none.",
    }),
    unreadable: z
      .strictObject({
        eventId: z.string(),
        position: z.int(),
        revision: z.int(),
        type: z.string(),
        why: z.string(),
      })
      .exactOptional()
      .meta({
        description:
          'The first event of the call that this version cannot read. The view shows the state before it, and nothing is decided or run. Absent: all can be read.',
      }),
  })
  .meta({ id: 'ToolCall', description: 'One proposed call of a tool by an agent run.' });

/** One proposed call of a tool, as returned over HTTP. `output` and `error` are null when absent. */
export type ToolCallView = z.infer<typeof toolCallViewSchema>;

export const runViewSchema = z
  .strictObject({
    runId: z.string(),
    stopReason: z.literal('awaiting_approval').nullable(),
    hasPendingApprovals: z.boolean(),
    pendingApprovals: z.array(approvalViewSchema),
    calls: z.array(toolCallViewSchema),
  })
  .meta({ id: 'Run', description: 'The calls of one agent run; the pause as a value.' });

export type RunView = z.infer<typeof runViewSchema>;

export const openRunViewSchema = z
  .strictObject({
    runId: z.string(),
    agentId: z.string(),
    /** The principal that requested the calls. */
    requestedBy: z.string(),
    openCalls: z.int(),
    pendingApprovals: z.int(),
    lastEventAt: timeSchema,
  })
  .meta({ id: 'OpenRun', description: 'What one agent, for one principal, has open in a run.' });

/** The open calls of one agent and principal in a run, counted. */
export type OpenRunView = z.infer<typeof openRunViewSchema>;

export const claimViewSchema = z
  .strictObject({
    attempt: z.int(),
    traceparent: z.string().exactOptional().meta({ description: 'The trace of the call, where spans are made.' }),
    arguments: jsonObjectSchema,
    actionDigest: z.string(),
    /** All that the digest covers but the arguments, so that the worker recomputes it. */
    digestInput: z.strictObject({
      tenant: z.string(),
      agentId: z.string(),
      runId: z.string(),
      toolCallId: z.string(),
      toolName: z.string(),
      toolSchemaHash: z.string().nullable(),
      salt: z.string(),
    }),
    /** The same for all attempts of a call. */
    idempotencyKey: z.string(),
    leaseUntil: timeSchema,
  })
  .meta({ id: 'Claim', description: 'The right to execute a tool call, once.' });

export type ClaimView = z.infer<typeof claimViewSchema>;
