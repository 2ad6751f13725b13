import { approvalViewSchema, claimViewSchema, grantViewSchema, toolCallViewSchema } from '@countersign/contracts';
import type {
  ApprovalView,
  ClaimView,
  ClientOutputBody,
  CreateGrantBody,
  GrantView,
  OutcomeBody,
  RequestApprovalBody,
  RequestToolCalls,
  RespondBody,
  RespondInBulkBody,
  ToolCallView,
} from '@countersign/contracts';
import { z } from 'zod';
import type { Http, HttpAnswer, HttpRequest } from '../harness/http.js';
import type { Tokens } from '../harness/tokens.js';
import type { Acknowledgement, Journal } from './journal.js';
import { sendPersistently } from './persistent.js';

/** The result of a request: a 2xx, or a refusal with its code. */
export type Reply<T> =
  | { readonly status: 'ok'; readonly value: T }
  | { readonly status: 'refused'; readonly httpStatus: number; readonly code: string; readonly detail: string };

export interface ClaimBody {
  readonly resolverId: string;
  readonly leaseMs: number;
}

export interface ReconcileBody {
  readonly status: 'succeeded' | 'failed' | 'retry';
  readonly note: string;
}

/**
 * The ledger as its users see it: each command has an Idempotency-Key and is retried until it gets a response; every
 * acknowledgement is recorded in the journal.
 */
export interface Ledger {
  readonly request: (body: RequestToolCalls) => Promise<Reply<readonly ToolCallView[]>>;
  readonly call: (callId: string, query?: string) => Promise<Reply<ToolCallView>>;
  readonly ask: (callId: string, body: RequestApprovalBody) => Promise<Reply<ApprovalView>>;
  readonly respond: (approvalId: string, body: RespondBody) => Promise<Reply<ApprovalView>>;
  readonly respondInBulk: (body: RespondInBulkBody) => Promise<Reply<readonly BulkResult[]>>;
  readonly cancel: (callId: string) => Promise<Reply<ToolCallView>>;
  readonly cancelRun: (runId: string) => Promise<Reply<readonly string[]>>;
  readonly claim: (callId: string, body: ClaimBody) => Promise<Reply<ClaimView>>;
  readonly renew: (callId: string, body: { attempt: number; leaseMs: number }) => Promise<Reply<Renewed>>;
  readonly report: (callId: string, body: OutcomeBody) => Promise<Reply<ToolCallView>>;
  readonly submit: (callId: string, body: ClientOutputBody) => Promise<Reply<ToolCallView>>;
  readonly reconcile: (callId: string, body: ReconcileBody) => Promise<Reply<ToolCallView>>;
  readonly grant: (body: CreateGrantBody) => Promise<Reply<GrantView>>;
  readonly revokeGrant: (grantId: string) => Promise<Reply<GrantView>>;
}

const renewedSchema = z.object({ attempt: z.int(), leaseUntil: z.string() });
export type Renewed = z.infer<typeof renewedSchema>;
const callsSchema = z.object({ calls: z.array(toolCallViewSchema) });
const runCancelledSchema = z.object({ cancelled: z.array(z.string()) });
const bulkSchema = z.object({
  results: z.array(
    z.object({ approvalId: z.string(), status: z.enum(['done', 'rejected']), approval: approvalViewSchema.optional() }),
  ),
});
export type BulkResult = z.infer<typeof bulkSchema>['results'][number];
const problemSchema = z.object({ code: z.string(), detail: z.string() });

/** A ledger over a client that outlives the server's restarts. `keyPrefix` keeps the keys of several users apart. */
export function createLedger(http: Http, tokens: Tokens, journal: Journal, keyPrefix: string): Ledger {
  let commands = 0;
  const surprise = (what: string): void => void journal.surprises.push(what);
  const acknowledge = (...acknowledgements: readonly Acknowledgement[]): void => {
    journal.acknowledgements.push(...acknowledgements);
  };
  const send = async <T>(
    role: keyof Tokens,
    request: Pick<HttpRequest, 'method' | 'path' | 'body'>,
    schema: z.ZodType<T>,
  ): Promise<Reply<T>> => {
    commands += 1;
    const whole = { ...request, token: tokens[role], idempotencyKey: `${keyPrefix}-${commands}` };
    return toReply(await sendPersistently(http, whole, surprise), schema);
  };
  const post: Posts['post'] = (role, path, body, schema) => send(role, { method: 'POST', path, body }, schema);
  const shown = (reply: Reply<ToolCallView>, ...also: readonly Acknowledgement[]): Reply<ToolCallView> => {
    if (reply.status === 'ok') acknowledge(...ofCall(reply.value), ...also);
    return reply;
  };
  const ofCalls = { post, acknowledge, shown };
  return {
    request: async (body) => {
      const reply = await post('agent', '/v1/tool-calls', body, callsSchema);
      if (reply.status === 'refused') return reply;
      const { calls } = reply.value;
      acknowledge(...calls.flatMap(ofCall), ...calls.flatMap((call, index) => ofRequest(call, body, index)));
      return { status: 'ok', value: calls };
    },
    call: async (callId, query = '') => {
      const request = { method: 'GET', path: `/v1/tool-calls/${callId}${query}`, token: tokens.agent } as const;
      return shown(toReply(await sendPersistently(http, request, surprise), toolCallViewSchema));
    },
    cancel: async (callId) =>
      shown(
        await post('agent', `/v1/tool-calls/${callId}/cancel`, { reason: 'no longer needed' }, toolCallViewSchema),
        {
          kind: 'cancelled',
          callId,
        },
      ),
    cancelRun: async (runId) => {
      const reply = await post('agent', `/v1/runs/${runId}/cancel`, { reason: 'run ended' }, runCancelledSchema);
      if (reply.status === 'refused') return reply;
      acknowledge(...reply.value.cancelled.map((callId) => ({ kind: 'cancelled', callId }) as const));
      return { status: 'ok', value: reply.value.cancelled };
    },
    grant: async (body) => {
      const reply = await post('me', '/v1/grants', body, grantViewSchema);
      if (reply.status === 'ok') journal.grants.push({ kind: 'granted', grantId: reply.value.grantId });
      return reply;
    },
    revokeGrant: async (grantId) => {
      const reply = await send('me', { method: 'DELETE', path: `/v1/grants/${grantId}` }, grantViewSchema);
      if (reply.status === 'ok') journal.grants.push({ kind: 'revoked', grantId });
      return reply;
    },
    ...ofPeople(ofCalls),
    ...ofWorkers(ofCalls),
  };
}

interface Posts {
  readonly post: <T>(role: keyof Tokens, path: string, body: unknown, schema: z.ZodType<T>) => Promise<Reply<T>>;
  readonly acknowledge: (...acknowledgements: readonly Acknowledgement[]) => void;
  readonly shown: (reply: Reply<ToolCallView>, ...also: readonly Acknowledgement[]) => Reply<ToolCallView>;
}

function ofPeople({
  post,
  acknowledge,
  shown,
}: Posts): Pick<Ledger, 'ask' | 'respond' | 'respondInBulk' | 'reconcile'> {
  return {
    ask: async (callId, body) => {
      const reply = await post('agent', `/v1/tool-calls/${callId}/approvals`, body, approvalViewSchema);
      if (reply.status === 'refused') return reply;
      const { approvalId, round } = reply.value;
      acknowledge(ofApproval(reply.value), { kind: 'asked', approvalId, callId, round });
      return reply;
    },
    respond: async (approvalId, body) => {
      const reply = await post('me', `/v1/approvals/${approvalId}/responses`, body, approvalViewSchema);
      if (reply.status === 'refused') return reply;
      const { callId } = reply.value;
      acknowledge(ofApproval(reply.value), { kind: 'responded', approvalId, callId, decision: body.decision.type });
      return reply;
    },
    respondInBulk: async (body) => {
      const reply = await post('me', '/v1/approvals/responses', body, bulkSchema);
      if (reply.status === 'refused') return reply;
      for (const { approvalId, status, approval } of reply.value.results) {
        if (approval === undefined) continue;
        acknowledge(ofApproval(approval));
        const { callId } = approval;
        if (status === 'done') acknowledge({ kind: 'responded', approvalId, callId, decision: body.decision.type });
      }
      return { status: 'ok', value: reply.value.results };
    },
    reconcile: async (callId, body) =>
      shown(await post('me', `/v1/tool-calls/${callId}/reconcile`, body, toolCallViewSchema), {
        kind: 'reconciled',
        callId,
        status: body.status,
      }),
  };
}

function ofWorkers({ post, acknowledge, shown }: Posts): Pick<Ledger, 'claim' | 'renew' | 'report' | 'submit'> {
  return {
    claim: async (callId, body) => {
      const reply = await post('worker', `/v1/tool-calls/${callId}/claim`, body, claimViewSchema);
      if (reply.status === 'refused') return reply;
      const { attempt, actionDigest, leaseUntil } = reply.value;
      acknowledge({ kind: 'claimed', callId, attempt, resolverId: body.resolverId, actionDigest, leaseUntil });
      return reply;
    },
    renew: async (callId, body) => {
      const reply = await post('worker', `/v1/tool-calls/${callId}/claim/renew`, body, renewedSchema);
      if (reply.status === 'ok') acknowledge({ kind: 'renewed', callId, ...reply.value });
      return reply;
    },
    report: async (callId, body) =>
      shown(await post('worker', `/v1/tool-calls/${callId}/outcome`, body, toolCallViewSchema), {
        kind: 'reported',
        callId,
        attempt: body.attempt,
        ...resultOf(body),
      }),
    submit: async (callId, body) =>
      shown(await post('agent', `/v1/tool-calls/${callId}/output`, body, toolCallViewSchema), {
        kind: 'reported',
        callId,
        attempt: null,
        ...resultOf(body),
      }),
  };
}

function resultOf(
  body: OutcomeBody | ClientOutputBody,
): Pick<Extract<Acknowledgement, { kind: 'reported' }>, 'status' | 'result'> {
  return body.status === 'succeeded'
    ? { status: body.status, result: body.output }
    : { status: body.status, result: body.error };
}

function ofCall(call: ToolCallView): readonly Acknowledgement[] {
  const { callId, revision, state, approval } = call;
  return [{ kind: 'shown', callId, revision, state }, ...(approval === null ? [] : [ofApproval(approval)])];
}

function ofApproval({ approvalId, callId, state }: ApprovalView): Acknowledgement {
  return { kind: 'approval', approvalId, callId, state };
}

function ofRequest(
  { callId }: ToolCallView,
  { runId, calls }: RequestToolCalls,
  index: number,
): readonly Acknowledgement[] {
  const asked = calls[index];
  if (asked === undefined) return [];
  const { toolCallId, toolName, arguments: args } = asked;
  return [{ kind: 'requested', callId, runId, toolCallId, toolName, arguments: args }];
}

function toReply<T>({ status, body, text }: HttpAnswer, schema: z.ZodType<T>): Reply<T> {
  if (status < 300) return { status: 'ok', value: schema.parse(body) };
  const problem = problemSchema.safeParse(body);
  if (!problem.success) throw new Error(`an answer ${status} is no problem document: ${text.slice(0, 200)}`);
  return { status: 'refused', httpStatus: status, ...problem.data };
}
