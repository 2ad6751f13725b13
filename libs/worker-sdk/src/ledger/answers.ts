import type { ApprovalView, ClaimView, OpenRunView, RunView, ToolCallView } from '@countersign/contracts';
import { z } from 'zod';
import { unreadable } from './transport.js';

// Only the members that the SDK relies on are checked: a newer server may return more, and must not break older
// workers.
const approval = z.looseObject({
  approvalId: z.string(),
  callId: z.string(),
  state: z.string(),
  arguments: z.looseObject({}),
  responses: z.array(z.looseObject({ respondedBy: z.string(), decision: z.looseObject({ type: z.string() }) })),
});

const toolCall = z.looseObject({
  callId: z.string(),
  runId: z.string(),
  agentId: z.string(),
  toolCallId: z.string(),
  toolName: z.string(),
  arguments: z.looseObject({}),
  actionDigest: z.string(),
  state: z.string(),
  approval: approval.nullable(),
  revision: z.number(),
});

const claim = z.looseObject({
  attempt: z.int(),
  arguments: z.looseObject({}),
  actionDigest: z.string(),
  digestInput: z.looseObject({
    tenant: z.string(),
    agentId: z.string(),
    runId: z.string(),
    toolCallId: z.string(),
    toolName: z.string(),
    toolSchemaHash: z.string().nullable(),
    salt: z.string(),
  }),
  idempotencyKey: z.string(),
});

/** A value of our own type `T`, as far as `shape` looks. */
function typed<T>(shape: z.ZodType): z.ZodType<T> {
  return z.custom<T>((value) => shape.safeParse(value).success);
}

function reader<T>(schema: z.ZodType<T>): (body: unknown) => T {
  return (body) => {
    const parsed = schema.safeParse(body);
    if (!parsed.success) throw unreadable(200);
    return parsed.data;
  };
}

/** The holder of a token, as the server knows it. */
export interface Me {
  readonly principal: string;
  readonly tenant: string;
  readonly roles: readonly string[];
  readonly groups: readonly string[];
  /** Globs of the agents that it may request for, in addition to its own principal. */
  readonly agentIds: readonly string[];
  /** The id of the token: `token:` and the first 16 hex digits of its SHA-256. */
  readonly credential: string | null;
  /** When the token ends, as RFC 3339; null: it has no end. */
  readonly expiresAt: string | null;
}

/** One page of approvals, the oldest first. */
export interface ApprovalPage {
  readonly approvals: readonly ApprovalView[];
  readonly nextCursor: string | null;
}

/** One page of calls. */
export interface ToolCallPage {
  readonly calls: readonly ToolCallView[];
  readonly nextCursor: string | null;
}

/** One page of runs with open calls. */
export interface RunPage {
  readonly runs: readonly OpenRunView[];
  readonly nextCursor: string | null;
}

export const readMe = reader(typed<Me>(z.looseObject({ principal: z.string().min(1) })));
export const readToolCall = reader(typed<ToolCallView>(toolCall));
export const readToolCalls = reader(z.looseObject({ calls: z.array(typed<ToolCallView>(toolCall)) }));
export const readToolCallPage = reader(typed<ToolCallPage>(z.looseObject({ calls: z.array(toolCall) })));
export const readRunPage = reader(
  typed<RunPage>(z.looseObject({ runs: z.array(z.looseObject({ runId: z.string() })) })),
);
export const readRun = reader(typed<RunView>(z.looseObject({ runId: z.string(), calls: z.array(toolCall) })));
export const readApproval = reader(typed<ApprovalView>(approval));
export const readApprovalPage = reader(typed<ApprovalPage>(z.looseObject({ approvals: z.array(approval) })));
export const readClaim = reader(typed<ClaimView>(claim));
