import { z } from 'zod';
import { grantStateSchema } from './grants.js';
import { oversightGroupingSchema } from './oversight-views.js';
import { booleanTextSchema, externalIdSchema, digestSchema, riskSchema, toolCallIdSchema } from './primitives.js';
import { limits } from './requests.js';
import { approvalStateSchema, toolCallStates, toolCallStateSchema } from './views.js';
import type { ToolCallState } from './views.js';

/** A whole number as the text of a query. */
export const intString = (min: number, max: number): z.ZodType<number, string> =>
  z
    .string()
    .regex(/^[0-9]{1,16}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.int().min(min).max(max));

const principalTextSchema = z.string().min(1).max(1024);

/** How a read shows values that are masked by default. */
export const shownValuesSchema = z.enum(['masked', 'clear']).meta({ id: 'ShownValues' }).optional().meta({
  description:
    'Default `masked`, for auditors too. `clear` shows hidden values as they were recorded. It needs the role `auditor`, and is recorded.',
});

const listOrderSchema = z.enum(['oldest', 'newest']).meta({ id: 'ListOrder' });

/** `GET /v1/tool-calls/{callId}`. */
export const getToolCallQuerySchema = z.strictObject({
  waitMs: intString(0, Number.MAX_SAFE_INTEGER).optional(),
  until: z.enum(['decided', 'settled']).optional(),
  values: shownValuesSchema,
});

/** `GET /v1/runs/{runId}` and `GET /v1/approvals/{approvalId}`. */
export const shownValuesQuerySchema = z.strictObject({ values: shownValuesSchema });

/** The forms of a card that an application with a bot of its own sends. */
export const cardFormatSchema = z
  .enum(['telegram', 'slack', 'teams', 'text'])
  .meta({ id: 'CardFormat', description: 'The form of a card.' });

/** `GET /v1/approvals/{approvalId}/card`. */
export const cardQuerySchema = z.strictObject({
  format: cardFormatSchema.optional().meta({
    description:
      'The form of the card: `telegram` for `sendMessage`, `slack` for `chat.postMessage`, `teams` for an Adaptive Card 1.5, or plain `text`. Default `text`.',
  }),
});
export type CardQuery = z.infer<typeof cardQuerySchema>;

const labelPrefix = 'label.';

/** Labels as parameters of a query, one for each: `label.team=ops`. */
const labelFiltersSchema = z
  .record(
    z
      .string()
      .regex(/^label\../)
      .max(128 + labelPrefix.length),
    z.string().max(512),
  )
  .meta({ description: 'Calls with all of these labels, one parameter for each: `label.<name>=<value>`.' });

/** The labels that the parameters of a query name, without the prefix. */
export function labelsOfQuery(labels: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(labels).map(([name, value]) => [name.slice(labelPrefix.length), value]));
}

/**
 * A query with its parameters `label.<name>` gathered in the member `labels`, as the schema has them. A parameter that is
 * named `labels` stays what it is, and is refused.
 */
export function gatherLabels(query: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const entries = Object.entries(query);
  const labels = entries.filter(([name]) => name.startsWith(labelPrefix));
  if (labels.length === 0 || Object.hasOwn(query, 'labels')) return query;
  const others = entries.filter(([name]) => !name.startsWith(labelPrefix));
  return { ...Object.fromEntries(others), labels: Object.fromEntries(labels) };
}

/** `GET /v1/approvals`. */
export const listApprovalsQuerySchema = z.strictObject({
  state: approvalStateSchema.optional(),
  toolName: externalIdSchema.optional(),
  runId: externalIdSchema.optional(),
  agentId: externalIdSchema.optional(),
  group: externalIdSchema.optional(),
  mine: booleanTextSchema
    .optional()
    .meta({ description: '`true`: only those that the caller may decide now, as `mayDecide` says.' }),
  toolCallId: toolCallIdSchema.optional(),
  respondedBy: principalTextSchema
    .optional()
    .meta({ description: 'This principal has responded, and has not withdrawn the response.' }),
  ruleId: externalIdSchema.optional().meta({ description: 'The rule of the policy that asks.' }),
  risk: riskSchema.optional(),
  labels: labelFiltersSchema.optional(),
  since: z.iso.datetime({ offset: true }).optional().meta({ description: 'Requested at this time or later.' }),
  until: z.iso.datetime({ offset: true }).optional().meta({ description: 'Requested at this time or earlier.' }),
  q: z
    .string()
    .min(1)
    .max(256)
    .regex(/^\S*(?:\s\S*){0,32}$/, 'must have at most 33 words')
    .optional()
    .meta({
      description:
        'At most 33 words, each after one white space. Each is in the name of the tool, the agent or the run, in the reason or in the description, without regard to case.',
    }),
  sort: z.enum(['requestedAt', 'expiresAt', 'risk']).optional().meta({
    description:
      'Default `requestedAt`, the oldest request first. `expiresAt`: the earliest end first, those without one last. `risk`: the highest first, those without one last; within one the earliest end first.',
  }),
  order: listOrderSchema.optional().meta({ description: '`newest` reverses the order of `sort`.' }),
  values: shownValuesSchema,
  preview: z.literal('true').optional().meta({
    description: 'Cut what is long, for a list: such an approval says `isPreview`, and is read whole on its own.',
  }),
  limit: intString(1, limits.pageSizeMax).optional().meta({
    description:
      'At most this many. A page may have fewer, or none, and a `nextCursor`: the list ends where `nextCursor` is null.',
  }),
  cursor: z.string().min(1).max(128).optional(),
});
export type ListApprovalsQuery = z.infer<typeof listApprovalsQuerySchema>;

/** `DELETE /v1/approvals/{approvalId}/responses/mine`. */
export const withdrawQuerySchema = z.strictObject({
  response: intString(1, Number.MAX_SAFE_INTEGER).optional().meta({
    description:
      'The `number` of the response to withdraw. A later response of yours stays. Without it, and without an `Idempotency-Key`, only the first withdrawal is carried out.',
  }),
});
export type WithdrawQuery = z.infer<typeof withdrawQuerySchema>;

/** `GET /v1/grants`. */
export const listGrantsQuerySchema = z.strictObject({
  state: grantStateSchema.optional(),
  toolName: externalIdSchema.optional(),
  limit: intString(1, limits.pageSizeMax).optional(),
  cursor: z.string().min(1).max(64).optional(),
});
export type ListGrantsQuery = z.infer<typeof listGrantsQuerySchema>;

const isToolCallState = (text: string): text is ToolCallState => toolCallStates.some((state) => state === text);

/** States separated by commas, each once. */
const toolCallStatesSchema = z
  .string()
  .max(256)
  .transform((text, context) => {
    const words = [...new Set(text.split(','))];
    const states = words.filter(isToolCallState);
    if (states.length === words.length) return states;
    const message = `must be one or more of ${toolCallStates.join(', ')}, separated by commas`;
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  })
  .pipe(z.array(toolCallStateSchema).min(1));

/** `GET /v1/tool-calls`. */
export const listToolCallsQuerySchema = z.strictObject({
  state: toolCallStatesSchema.optional(),
  toolName: externalIdSchema.optional(),
  runId: externalIdSchema.optional(),
  agentId: externalIdSchema.optional(),
  requestedBy: principalTextSchema.optional(),
  since: z.iso.datetime({ offset: true }).meta({ description: 'Requested at this time or later.' }).optional(),
  values: shownValuesSchema,
  order: listOrderSchema.optional(),
  limit: intString(1, limits.pageSizeMax).optional(),
  cursor: z.string().min(1).max(64).optional(),
});
export type ListToolCallsQuery = z.infer<typeof listToolCallsQuerySchema>;

/** `GET /v1/runs`. */
export const listRunsQuerySchema = z.strictObject({
  state: z.literal('open').optional(),
  agentId: externalIdSchema.optional(),
  limit: intString(1, limits.pageSizeMax).optional(),
  cursor: z.string().min(1).max(64).optional(),
});
export type ListRunsQuery = z.infer<typeof listRunsQuerySchema>;

/** `GET /v1/policy/suggestions`. */
export const policySuggestionsQuerySchema = z.strictObject({
  decisionsMin: intString(2, 10_000).optional(),
  since: z.iso
    .datetime({ offset: true })
    .meta({ description: 'Calls requested at this time or later; default: 90 days ago.' })
    .optional(),
});
export type PolicySuggestionsQuery = z.infer<typeof policySuggestionsQuerySchema>;

/** `GET /v1/policy/versions`. */
export const policyVersionsQuerySchema = z.strictObject({
  policyVersion: digestSchema.meta({ description: 'Only this version, with its content.' }).optional(),
  limit: intString(1, limits.pageSizeMax).optional(),
});
export type PolicyVersionsQuery = z.infer<typeof policyVersionsQuerySchema>;

/** `GET /v1/log/checkpoint`. */
export const checkpointQuerySchema = z.strictObject({
  pending: booleanTextSchema
    .optional()
    .meta({ description: 'The newest checkpoint, also without the quorum of the witnesses.' }),
});

const sizeTextSchema = intString(0, Number.MAX_SAFE_INTEGER).optional();

/** `GET /v1/log/checkpoint/timestamp`. */
export const timestampQuerySchema = z.strictObject({
  size: sizeTextSchema.meta({ description: 'The size of the checkpoint. Default: the newest one with a time stamp.' }),
  epoch: sizeTextSchema.meta({
    description: 'The epoch of the checkpoint. Default: the latest one that has this size.',
  }),
});

/** `GET /v1/log/timestamps`. */
export const timestampsQuerySchema = z.strictObject({
  size: sizeTextSchema.meta({ description: 'Of checkpoints of this size alone.' }),
  order: listOrderSchema.optional().meta({ description: 'By epoch and size. Default: `oldest`.' }),
  after: z
    .string()
    .regex(/^[0-9]{1,15}[.][0-9]{1,15}$/, 'must be an epoch, a dot and a size')
    .transform((text) => {
      const [epoch = 0, size = 0] = text.split('.').map(Number);
      return { epoch, size };
    })
    .optional()
    .meta({ description: 'The epoch and the size of the last one that was read, such as `1.250`.' }),
  limit: intString(1, 100).optional().meta({ description: 'Default 100.' }),
});
export type TimestampsQuery = z.infer<typeof timestampsQuerySchema>;

/** `GET /v1/log/vkey`. */
export const vkeysQuerySchema = z.strictObject({
  all: booleanTextSchema
    .optional()
    .meta({ description: 'The ML-DSA-44 keys too, each after the Ed25519 key of its epoch.' }),
});

/** `GET /v1/events`. */
export const eventsQuerySchema = z.strictObject({
  after: z
    .union([z.literal('now'), intString(0, Number.MAX_SAFE_INTEGER)], {
      error: 'must be a position of the log, or "now"',
    })
    .optional(),
  runId: externalIdSchema.optional(),
  callId: z.string().max(64).optional(),
  types: z.string().max(2048).optional(),
  values: shownValuesSchema,
});

/** `GET /v1/oversight`. */
export const oversightQuerySchema = z.strictObject({
  from: z.iso.datetime({ offset: true }).optional(),
  to: z.iso.datetime({ offset: true }).optional(),
  by: oversightGroupingSchema.optional(),
  fastMs: intString(0, 3_600_000).optional(),
  format: z.enum(['json', 'csv']).optional(),
});
export type OversightQuery = z.output<typeof oversightQuerySchema>;
