import { z } from 'zod';
import { jsonValueSchema } from './json.js';
import { externalIdSchema, shownTextSchema, toolCallIdSchema } from './primitives.js';
import { requestApprovalSchema, requestToolCallsSchema } from './requests.js';

const aboutCall = { runId: externalIdSchema, toolCallId: toolCallIdSchema };

/** `ApprovalRequested` on the requests topic: ask (again) about a call that was requested. */
const approvalRequestSchema = z
  .strictObject({ ...aboutCall, ...requestApprovalSchema.shape })
  .meta({ id: 'ApprovalRequest' });

/** `ToolCallCancelled` on the requests topic; without `toolCallId` all open calls of the run. */
const cancelRequestSchema = z
  .strictObject({ runId: externalIdSchema, toolCallId: toolCallIdSchema.optional(), reason: shownTextSchema })
  .meta({ id: 'CancelRequest' });

/** `ToolOutputSubmitted` on the requests topic: the result of a client-executed tool. */
const outputRequestSchema = z
  .discriminatedUnion('status', [
    z.strictObject({ ...aboutCall, status: z.literal('succeeded'), output: jsonValueSchema }),
    z.strictObject({ ...aboutCall, status: z.literal('failed'), error: jsonValueSchema }),
  ])
  .meta({ id: 'OutputRequest' });

/** The message types of the requests topic, by `ce_type`. */
export const requestMessageSchemas = {
  ToolCallRequested: requestToolCallsSchema,
  ApprovalRequested: approvalRequestSchema,
  ToolCallCancelled: cancelRequestSchema,
  ToolOutputSubmitted: outputRequestSchema,
} as const;

/** The `ce_type` of a request. */
export type RequestMessageType = keyof typeof requestMessageSchemas;
