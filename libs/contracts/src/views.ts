import { z } from 'zod';
import {
  batchViewSchema,
  endedProposalSchema,
  hiddenValueSchema,
  instructionSchema,
  mayDecideSchema,
  noApproverLeftSchema,
  proposalViewSchema,
  responseViewSchema,
  stageProgressSchema,
  upcomingSchema,
} from './approval-parts.js';
import { jsonObjectSchema, jsonValueSchema } from './json.js';
import { chainLinkViewSchema } from './nesting.js';
import { decisionTypeSchema, riskSchema, timeSchema } from './primitives.js';
import { presentedViewSchema } from './presented.js';
import { requirementSchema, verdictSchema } from './requirement.js';
import { schemaNoteSchema } from './schema-notes.js';

const schemaNotesSchema = z.array(schemaNoteSchema).exactOptional().meta({
  description:
    "The parts of the tool's schema that were not checked; the rest was. An empty pointer is all of it. Absent: none.",
});

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
export const toolCallStateSchema = z.enum(toolCallStates).meta({ id: 'ToolCallState' });

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
export const approvalStateSchema = z.enum(approvalStates).meta({ id: 'ApprovalState' });

const resolutionSchema = z.enum(['approved', 'denied', 'expired', 'cancelled']).meta({ id: 'Resolution' });

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
    schemaNotes: schemaNotesSchema,
    /** The calls that were requested together; null for a call on its own. */
    batch: batchViewSchema.nullable(),
    round: z.int(),
    state: approvalStateSchema,
    waitsForTurn: z.literal(true).exactOptional().meta({
      description:
        'People will be asked at the turn of the call: until then nobody can respond. Absent: they are asked.',
    }),
    toolName: z.string(),
    arguments: jsonObjectSchema,
    argumentsSchema: jsonObjectSchema.nullable().exactOptional().meta({
      description:
        "The JSON Schema of the tool's arguments, without defaults, constants and examples that would tell a hidden value. Null: the request had none. Only in the answer to `GET /v1/approvals/{approvalId}`, because it may be large; absent there while the event store cannot be read.",
    }),
    actionDigest: z.string(),
    proposal: proposalViewSchema,
    shownDigest: z.string().meta({
      description:
        'The digest of the proposal and of `instructions` together: send it with the response. Without instructions it is that of the proposal.',
    }),
    shownRevision: z.int().meta({
      description:
        'Each proposal, instruction and withdrawal makes the next revision of what is shown, from 1. Unlike `shownDigest` it never comes back. Send it with a response that may be delayed or read again.',
    }),
    shownOthersDigest: z.string().exactOptional().meta({
      description:
        'Of what the other calls of a step propose that runs together or not at all: an approval may release them too. Show them (`GET /v1/tool-calls/{callId}` of each of `batch.callIds`, read after this), and send it with the response. Absent: the call is decided alone, or the approval has ended.',
    }),
    instructions: z.array(instructionSchema).meta({
      description:
        'Those of the votes that count: while it is pending for or against the current proposal, afterwards for the resolution.',
    }),
    endedProposals: z
      .array(endedProposalSchema)
      .meta({ description: 'Edits and answers of this call that ended without an approval; the last 16.' }),
    description: z.string().nullable(),
    ...presentedViewSchema.shape,
    reason: z.string().nullable(),
    requestedAt: timeSchema,
    expiresAt: timeSchema.nullable(),
    risk: riskSchema.nullable(),
    /**
     * All requirements of the current proposal as one: that of the rule that judged the request, and that of the rule that
     * judges the edited arguments. Its stages are in the order of `progress`; `expiresAt` and `upcoming` know the end of each.
     * Without a description in the document: with one, the generator for Java gives the member no type.
     */
    requirement: requirementSchema,
    allowedDecisions: z.array(decisionTypeSchema),
    responses: z.array(responseViewSchema),
    /** By stage of the requirement, in order. */
    progress: z.array(stageProgressSchema),
    /** In order of time; empty when the approval has ended. */
    upcoming: z.array(upcomingSchema),
    mayDecide: mayDecideSchema.exactOptional(),
    noApproverLeft: noApproverLeftSchema.exactOptional(),
    isPreview: z.literal(true).exactOptional().meta({
      description: 'Parts are cut, with marks in their places. `GET /v1/approvals/{approvalId}` has the whole.',
    }),
    callState: toolCallStateSchema.meta({ description: 'The state of the call now: whether it ran.' }),
    resolution: resolutionSchema.nullable(),
    resolvedAt: timeSchema.nullable(),
  })
  .meta({ id: 'Approval', description: 'One question put to people about a tool call.' });

/** One approval of a tool call, as returned over HTTP. */
export type ApprovalView = z.infer<typeof approvalViewSchema>;

export const revealedViewSchema = z
  .strictObject({
    arguments: jsonObjectSchema,
    output: jsonValueSchema.exactOptional().meta({
      description: 'Only where an answer is proposed in place of the run: that answer with the hidden values shown.',
    }),
  })
  .meta({ id: 'RevealedArguments', description: 'What an approval is about, with the hidden values shown.' });

/** What an approval is about, with the hidden values shown. */
export type RevealedView = z.infer<typeof revealedViewSchema>;

export const toolCallViewSchema = z
  .strictObject({
    callId: z.string(),
    runId: z.string(),
    agentId: z.string(),
    batchId: z.string().nullable(),
    toolCallId: z.string(),
    toolName: z.string(),
    ...presentedViewSchema.shape,
    clientExecuted: z.literal(true).exactOptional().meta({
      description: "The user's client executes the call and submits its output. Absent: a worker executes it.",
    }),
    /** The arguments that will run: after an edit, the edited ones. */
    arguments: jsonObjectSchema,
    originalArguments: jsonObjectSchema.optional(),
    schemaNotes: schemaNotesSchema,
    actionDigest: z.string(),
    state: toolCallStateSchema,
    waitsForTurn: z.literal(true).exactOptional().meta({
      description:
        'A sequential call that is behind others of its run: nobody is asked yet, and no deadline runs. Absent: it is not.',
    }),
    heldBy: z.string().exactOptional().meta({
      description:
        'The id of the call before it whose stream cannot be read, so it may be running and keeps the turn: read its `unreadable`. A version that can read it goes on; cancelling the run ends the calls that wait, and later ones pass. Absent: there is none.',
    }),
    verdict: verdictSchema,
    approval: approvalViewSchema.nullable(),
    output: jsonValueSchema,
    error: jsonValueSchema,
    instruction: z.string().nullable(),
    requestedAt: timeSchema,
    settledAt: timeSchema.nullable(),
    revision: z.int(),
    repeated: z.literal(true).exactOptional().meta({
      description:
        'Only in the answer to a request: the call had ended before, and this request names it from another batch. Where the ids of a model repeat, put the step in front of them.',
    }),
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

export const receiptSchema = z.string().meta({
  description:
    "A compact JWS that a tool's own server can check: this call, with these arguments, may run until the end of the lease. Pass it to the tool. Absent: the server has no key for receipts.",
});

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
    receipt: receiptSchema.exactOptional(),
  })
  .meta({ id: 'Claim', description: 'The right to execute a tool call, once.' });

export type ClaimView = z.infer<typeof claimViewSchema>;
