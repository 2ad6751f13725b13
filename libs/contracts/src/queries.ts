import { z } from 'zod';
import { grantStates } from './grants.js';
import { oversightGroupings } from './oversight-views.js';
import { externalIdSchema, digestSchema } from './primitives.js';
import { limits } from './requests.js';
import { approvalStates, toolCallStates } from './views.js';
import type { ToolCallState } from './views.js';

const intString = (min: number, max: number) =>
  z
    .string()
    .regex(/^[0-9]{1,16}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.int().min(min).max(max));

/** `GET /v1/tool-calls/{callId}`. */
export const getToolCallQuerySchema = z.strictObject({
  waitMs: intString(0, Number.MAX_SAFE_INTEGER).optional(),
  until: z.enum(['decided', 'settled']).optional(),
});

/** `GET /v1/approvals`. */
export const listApprovalsQuerySchema = z.strictObject({
  state: z.enum(approvalStates).optional(),
  toolName: externalIdSchema.optional(),
  runId: externalIdSchema.optional(),
  agentId: externalIdSchema.optional(),
  group: externalIdSchema.optional(),
  order: z.enum(['oldest', 'newest']).optional(),
  preview: z.literal('true').optional().meta({
    description: 'Cut what is long, for a list: such an approval says `isPreview`, and is read whole on its own.',
  }),
  limit: intString(1, limits.pageSizeMax).optional(),
  cursor: z.string().min(1).max(64).optional(),
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
  state: z.enum(grantStates).optional(),
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
  .pipe(z.array(z.enum(toolCallStates)));

/** `GET /v1/tool-calls`. */
export const listToolCallsQuerySchema = z.strictObject({
  state: toolCallStatesSchema.optional(),
  toolName: externalIdSchema.optional(),
  runId: externalIdSchema.optional(),
  agentId: externalIdSchema.optional(),
  requestedBy: z.string().min(1).max(1024).optional(),
  since: z.iso.datetime({ offset: true }).meta({ description: 'Requested at this time or later.' }).optional(),
  order: z.enum(['oldest', 'newest']).optional(),
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
});

/** `GET /v1/audit/tool-calls/{callId}/events`. */
export const auditToolCallQuerySchema = z.strictObject({ asOf: z.iso.datetime({ offset: true }).optional() });

/** `GET /v1/audit/events`. */
export const auditEventsQuerySchema = z.strictObject({
  after: intString(0, Number.MAX_SAFE_INTEGER).optional(),
  limit: intString(1, 1_000_000).optional(),
});

/** `GET /v1/oversight`. */
export const oversightQuerySchema = z.strictObject({
  from: z.iso.datetime({ offset: true }).optional(),
  to: z.iso.datetime({ offset: true }).optional(),
  by: z.enum(oversightGroupings).optional(),
  fastMs: intString(0, 3_600_000).optional(),
  format: z.enum(['json', 'csv']).optional(),
});
export type OversightQuery = z.output<typeof oversightQuerySchema>;
