import { z } from 'zod';
import { labelsSchema } from './labels.js';
import { callIdPattern, isCallId } from './ids.js';
import { jsonObjectSchema, jsonValueSchema } from './json.js';
import { presentedSchema } from './presented.js';
import {
  batchModeSchema,
  decisionTypeSchema,
  durationMsSchema,
  externalIdSchema,
  newRunIdSchema,
  shownTextSchema,
  textSchema,
  toolCallIdSchema,
} from './primitives.js';
import { toolHintsSchema } from './tool-hints.js';

/** Limits of one request, in counts and bytes. */
export const limits = {
  callsPerRequestMax: 256,
  /** Each member of a batch records the list of all members, so the list is as limited as the batch. */
  batchMembersMax: 64,
  argumentsBytesMax: 256 * 1024,
  /** The metadata of a call, as JSON. */
  metadataBytesMax: 8 * 1024,
  /**
   * The limit of an output or an error, as JSON. With its metadata an append fits into EventStoreDB's limit of 1 MiB.
   */
  outputBytesMax: 768 * 1024,
  bodyBytesMax: 4 * 1024 * 1024,
  jsonDepthMax: 64,
  bulkResponsesMax: 256,
  waitMsMax: 55_000,
  leaseMsDefault: 60_000,
  leaseMsMax: 24 * 60 * 60 * 1000,
  pageSizeDefault: 100,
  pageSizeMax: 1000,
} as const;

const callIdSchema = z
  .string()
  .refine(isCallId, { error: 'must be the callId of a tool call (tc_…)' })
  .meta({ pattern: callIdPattern.source });

const allowedDecisionsSchema = z.array(decisionTypeSchema).min(1).max(4);

const requestedCallSchema = z
  .strictObject({
    toolCallId: toolCallIdSchema.meta({
      description:
        'Unique in its run: the same id with the same arguments is the same call. Where the ids of a model repeat, such as a name of a function, put the step in front of them.',
    }),
    toolName: externalIdSchema,
    arguments: jsonObjectSchema,
    needsApproval: z.boolean().optional(),
    deny: textSchema
      .min(1)
      .meta({
        description:
          'The reason for which the code of the agent denies the call. The call is recorded as blocked, no person is asked, and it never runs',
      })
      .optional(),
    reason: textSchema.optional(),
    description: textSchema.optional(),
    title: presentedSchema.shape.title.optional(),
    toolDescription: presentedSchema.shape.toolDescription.optional(),
    metadata: presentedSchema.shape.metadata.optional(),
    toolSchema: jsonObjectSchema
      .meta({
        description:
          'JSON Schema of the arguments, of draft 2020-12, 2019-09, 07, 06 or 04, or as OpenAPI 3.0 writes it. A part that cannot be checked, and a schema beyond 256 KiB, 8,000 schemas or 64 levels, is named in `schemaNotes` of the call; the rest holds',
      })
      .optional(),
    clientExecuted: z.boolean().optional(),
    idempotent: z.boolean().optional(),
    expiresInMs: durationMsSchema.optional(),
    allowedDecisions: allowedDecisionsSchema.optional(),
    labels: labelsSchema.optional(),
    hints: toolHintsSchema.optional(),
    parentCallId: callIdSchema
      .meta({ description: 'The recorded call of the parent agent inside which this call runs' })
      .optional(),
  })
  .meta({ id: 'RequestedCall', description: 'One call that a model step asks for.' });
export type RequestedCall = z.infer<typeof requestedCallSchema>;

const { toolName, needsApproval, description, expiresInMs, allowedDecisions, labels, hints } =
  requestedCallSchema.shape;

const runFactsSchema = z.strictObject({
  calls: z.int().min(0).default(0),
  denied: z.int().min(0).default(0),
  startedAt: z.iso.datetime({ offset: true }).optional(),
});

/** A call as a policy explains it: nothing is recorded, so it needs no ids. */
export const explainedCallSchema = z
  .strictObject({
    toolName,
    arguments: jsonObjectSchema
      .default({})
      .meta({ description: 'The arguments of the tool: a JSON object, empty by default' }),
    agentId: externalIdSchema.default('agent'),
    runId: externalIdSchema.default('run'),
    requestedBy: externalIdSchema
      .meta({
        description:
          'The principal that would request it. Its token names agents by globs: quotas count its calls together as well. Default: one with the name of the agent, as `countedFor` says',
      })
      .optional(),
    ...{ needsApproval, description, expiresInMs, allowedDecisions, labels, hints },
    run: runFactsSchema.meta({ description: 'What expressions see as `run`; default: a run without calls' }).optional(),
    at: z.iso
      .datetime({ offset: true })
      .meta({ description: 'The time at which the call is judged; default: now' })
      .optional(),
  })
  .meta({ id: 'ExplainedCall' });
export type ExplainedCall = z.output<typeof explainedCallSchema>;

/** A candidate policy, and the time of the recorded calls that it is compared with. */
export const backtestSchema = z
  .strictObject({
    content: jsonObjectSchema.meta({
      description: 'The policy file as JSON',
      required: ['version'],
      properties: { version: { type: 'integer', enum: [1], description: 'The version of the format: always 1.' } },
    }),
    from: z.iso.datetime({ offset: true }).optional(),
    to: z.iso.datetime({ offset: true }).optional(),
  })
  .meta({ id: 'Backtest' });
export type Backtest = z.output<typeof backtestSchema>;

/** `POST /v1/tool-calls`, and the data of `ToolCallRequested` on the requests topic: the calls of one model step. */
export const requestToolCallsSchema = z
  .strictObject({
    runId: newRunIdSchema,
    agentId: externalIdSchema.optional(),
    onBehalfOf: externalIdSchema
      .meta({ description: 'The person for whom the agent acts: that person cannot approve the calls' })
      .optional(),
    batchId: externalIdSchema.optional().meta({
      description:
        'A name of the step, shown with its calls. All calls of an all-or-nothing batch are in one request: another one of the same run and principal with this `batchId` is refused',
    }),
    batchMode: batchModeSchema.optional(),
    calls: z.array(requestedCallSchema).min(1).max(limits.callsPerRequestMax),
  })
  .superRefine((request, context) => {
    const seen = new Set<string>();
    request.calls.forEach((call, index) => {
      if (seen.has(call.toolCallId)) {
        context.addIssue({
          code: 'custom',
          path: ['calls', index, 'toolCallId'],
          message: 'is used twice in this request',
        });
      }
      seen.add(call.toolCallId);
    });
  })
  .meta({ id: 'RequestToolCalls' });
export type RequestToolCalls = z.infer<typeof requestToolCallsSchema>;

/** `POST /v1/tool-calls/{callId}/approvals`: ask (again). */
export const requestApprovalSchema = z
  .strictObject({
    reason: textSchema.optional(),
    description: textSchema.optional(),
    expiresInMs: durationMsSchema.optional(),
    allowedDecisions: allowedDecisionsSchema.optional(),
  })
  .meta({ id: 'RequestApproval' });
export type RequestApprovalBody = z.infer<typeof requestApprovalSchema>;

/** `POST /v1/tool-calls/{callId}/cancel` and `POST /v1/runs/{runId}/cancel`. */
export const cancelSchema = z.strictObject({ reason: shownTextSchema }).meta({ id: 'Cancel' });

/** `POST /v1/tool-calls/{callId}/claim`. */
export const claimSchema = z
  .strictObject({ resolverId: externalIdSchema, leaseMs: z.int().min(1).max(limits.leaseMsMax).optional() })
  .meta({ id: 'ClaimExecution' });

/** `POST /v1/tool-calls/{callId}/claim/renew`. */
export const renewClaimSchema = z
  .strictObject({ attempt: z.int().min(1), leaseMs: z.int().min(1).max(limits.leaseMsMax).optional() })
  .meta({ id: 'RenewClaim' });

/** `POST /v1/tool-calls/{callId}/outcome`. */
export const outcomeSchema = z
  .discriminatedUnion('status', [
    z.strictObject({ attempt: z.int().min(1), status: z.literal('succeeded'), output: jsonValueSchema }),
    z.strictObject({ attempt: z.int().min(1), status: z.literal('failed'), error: jsonValueSchema }),
  ])
  .meta({ id: 'ReportExecution' });
export type OutcomeBody = z.infer<typeof outcomeSchema>;

/** `POST /v1/tool-calls/{callId}/output`: the result of a client-executed tool. */
export const clientOutputSchema = z
  .discriminatedUnion('status', [
    z.strictObject({ status: z.literal('succeeded'), output: jsonValueSchema }),
    z.strictObject({ status: z.literal('failed'), error: jsonValueSchema }),
  ])
  .meta({ id: 'SubmitClientOutput' });
export type ClientOutputBody = z.infer<typeof clientOutputSchema>;

/** `POST /v1/tool-calls/{callId}/reconcile`: a person records what happened. */
export const reconcileSchema = z
  .strictObject({ status: z.enum(['succeeded', 'failed', 'retry']), note: shownTextSchema })
  .meta({ id: 'ReconcileExecution' });

export const problemSchema = z
  .looseObject({
    type: z.string().meta({ description: 'An address of the server with cause and remedy: `/problems/<code>`.' }),
    title: z.string(),
    status: z.int(),
    code: z.string(),
    detail: z.string(),
    instance: z.string().exactOptional().meta({ description: 'The `Request-Id` of the request.' }),
    errors: z.array(z.strictObject({ path: z.string(), message: z.string() })).optional(),
  })
  .meta({ id: 'Problem', description: 'RFC 9457 problem details with a stable `code`.' });

export const eraseSubjectSchema = z
  .strictObject({
    subject: z.string().min(1).max(512).meta({
      description:
        'The label `subject` of the calls, or `run:` and the id of a run whose calls have no such label. A label that begins with `run:`, `grant:` or `label:` has `label:` in front of it here.',
    }),
    requestedBy: externalIdSchema
      .optional()
      .meta({ description: 'Only calls of this principal. Default: those of all.' }),
    reason: textSchema.optional(),
    force: z.boolean().optional().meta({ description: 'Cancels the open calls of the subject first.' }),
    dryRun: z.boolean().optional().meta({ description: 'Counts what would be erased, and changes nothing.' }),
  })
  .meta({ id: 'EraseSubject' });

export type EraseSubject = z.infer<typeof eraseSubjectSchema>;
