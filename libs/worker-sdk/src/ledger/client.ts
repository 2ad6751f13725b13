import type {
  ApprovalView,
  ClaimView,
  ClientOutputBody,
  LogEventView,
  OutcomeBody,
  RequestApprovalBody,
  RequestToolCalls,
  RespondBody,
  RunView,
  ToolCallState,
  ToolCallView,
} from '@countersign/contracts';
import { createPageGuard } from '@countersign/http-client';
import type { HttpRequest } from '@countersign/http-client';
import {
  readApproval,
  readApprovalPage,
  readClaim,
  readMe,
  readRun,
  readRunPage,
  readToolCall,
  readToolCallPage,
  readToolCalls,
  type ApprovalPage,
  type Me,
  type RunPage,
  type ToolCallPage,
} from './answers.js';
import { readEvents, type EventsOptions } from './events.js';
import {
  checkToken,
  createTransport,
  readable,
  type CallOptions,
  type Transport,
  type TransportOptions,
} from './transport.js';

/** The server's address and the caller's token. */
export interface ClientOptions extends TransportOptions {
  readonly token: string;
}

/** Long-poll: returns at once, or when the call is decided or settled, after at most 55 s. */
export interface GetToolCallOptions extends CallOptions {
  readonly waitMs?: number | undefined;
  readonly until?: 'decided' | 'settled' | undefined;
}

/** Selects approvals. */
export interface ListApprovalsOptions extends CallOptions {
  readonly state?: 'pending' | 'approved' | 'denied' | 'expired' | 'cancelled' | undefined;
  readonly toolName?: string | undefined;
  readonly runId?: string | undefined;
  readonly agentId?: string | undefined;
  readonly group?: string | undefined;
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

/** Selects calls. */
export interface ListToolCallsOptions extends CallOptions {
  readonly state?: readonly ToolCallState[] | undefined;
  readonly toolName?: string | undefined;
  readonly runId?: string | undefined;
  readonly agentId?: string | undefined;
  readonly requestedBy?: string | undefined;
  /** Requested at this time or later, RFC 3339. */
  readonly since?: string | undefined;
  /** Default: `newest`. */
  readonly order?: 'oldest' | 'newest' | undefined;
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

/** Selects runs with open calls. */
export interface ListRunsOptions extends CallOptions {
  readonly agentId?: string | undefined;
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

/** The claimer, and the length of its lease. */
export interface ClaimRequest {
  readonly resolverId: string;
  readonly leaseMs?: number | undefined;
}

/** Prolongs a claim. */
export interface RenewRequest {
  readonly attempt: number;
  readonly leaseMs?: number | undefined;
}

/**
 * The HTTP contract, typed. Every method retries broken connections, 5xx and 429 with one `Idempotency-Key`, and throws
 * `CountersignError` when the server refuses. The endpoint defines the role that a method needs.
 */
export interface Client {
  /** Who the token speaks for. */
  readonly getMe: (options?: CallOptions) => Promise<Me>;
  /** Requests the calls of one model step. A duplicate adds nothing. Role agent. */
  readonly requestToolCalls: (body: RequestToolCalls, options?: CallOptions) => Promise<readonly ToolCallView[]>;
  readonly getToolCall: (callId: string, options?: GetToolCallOptions) => Promise<ToolCallView>;
  /** An agent sees the calls of its own principal. */
  readonly listToolCalls: (options?: ListToolCallsOptions) => Promise<ToolCallPage>;
  /**
   * All calls that the options select, read page by page. Throws `unreadable-response` when the server repeats a page or
   * its cursor.
   */
  readonly eachToolCall: (options?: Omit<ListToolCallsOptions, 'cursor'>) => AsyncGenerator<ToolCallView, void>;
  readonly getRun: (runId: string, options?: CallOptions) => Promise<RunView>;
  /** The runs with open calls, those begun last first. */
  readonly listRuns: (options?: ListRunsOptions) => Promise<RunPage>;
  readonly listApprovals: (options?: ListApprovalsOptions) => Promise<ApprovalPage>;
  readonly getApproval: (approvalId: string, options?: CallOptions) => Promise<ApprovalView>;
  /** Responds to an approval. Role approver. */
  readonly respond: (approvalId: string, body: RespondBody, options?: CallOptions) => Promise<ApprovalView>;
  /** Asks (again). Role agent. */
  readonly requestApproval: (callId: string, body?: RequestApprovalBody, options?: CallOptions) => Promise<unknown>;
  readonly cancel: (callId: string, reason: string, options?: CallOptions) => Promise<unknown>;
  /** Cancels the open calls of a run that its own principal requested. An admin cancels all. */
  readonly cancelRun: (runId: string, reason: string, options?: CallOptions) => Promise<unknown>;
  /** Claims the right to execute. Role resolver. */
  readonly claim: (callId: string, body: ClaimRequest, options?: CallOptions) => Promise<ClaimView>;
  readonly renew: (callId: string, body: RenewRequest, options?: CallOptions) => Promise<unknown>;
  readonly reportOutcome: (callId: string, body: OutcomeBody, options?: CallOptions) => Promise<unknown>;
  /** The result of a client-executed tool. Role agent. */
  readonly submitOutput: (callId: string, body: ClientOutputBody, options?: CallOptions) => Promise<unknown>;
  /** The recorded events in order, without end. Reconnects when the connection breaks. */
  readonly events: (options?: EventsOptions) => AsyncGenerator<LogEventView, void>;
}

/**
 * A typed client of the HTTP API.
 *
 * @example
 * const client = createClient({ url: 'http://127.0.0.1:7400', token: process.env['COUNTERSIGN_TOKEN'] ?? '' });
 *
 * for await (const event of client.events({ types: ['ApprovalRequested'] })) {
 */
export function createClient(options: ClientOptions): Client {
  checkToken('token', options.token);
  return clientOver(createTransport(options), options.token);
}

/** A client that shares its transport with others, for other tokens. */
export function clientOver(transport: Transport, token: string): Client {
  const get = (path: string, options: CallOptions = {}, more: Pick<HttpRequest, 'query' | 'timeoutMs'> = {}) =>
    transport.send({ ...options, ...more, method: 'GET', path, token });
  const post = (path: string, body: unknown, options: CallOptions = {}): Promise<unknown> =>
    transport.send({ ...options, method: 'POST', path, token, body });
  const call = (callId: string): string => `/v1/tool-calls/${encodeURIComponent(callId)}`;
  const run = (runId: string): string => `/v1/runs/${encodeURIComponent(runId)}`;
  const approval = (approvalId: string): string => `/v1/approvals/${encodeURIComponent(approvalId)}`;
  const listToolCalls: Client['listToolCalls'] = async (options = {}) => {
    const { signal, attempts, idempotencyKey, state, ...query } = options;
    const list = { ...query, state: state?.join(',') };
    return readToolCallPage(await get('/v1/tool-calls', { signal, attempts, idempotencyKey }, { query: list }));
  };

  return {
    getMe: async (options) => readMe(await get('/v1/me', options)),
    requestToolCalls: async (body, options) => readToolCalls(await post('/v1/tool-calls', body, options)).calls,
    getToolCall: async (callId, options = {}) => {
      const { waitMs, until, ...rest } = options;
      const query = { waitMs, until };
      return readToolCall(await get(call(callId), rest, { query, timeoutMs: (waitMs ?? 0) + 30_000 }));
    },
    listToolCalls,
    eachToolCall: async function* (options) {
      const next = createPageGuard('tool calls');
      let cursor: string | undefined;
      do {
        const { calls, nextCursor } = await listToolCalls({ ...options, cursor });
        cursor = readable(() => next({ nextCursor, size: calls.length, firstItem: calls[0]?.callId }));
        yield* calls;
      } while (cursor !== undefined);
    },
    getRun: async (runId, options) => readRun(await get(run(runId), options)),
    listRuns: async (options = {}) => {
      const { signal, attempts, idempotencyKey, ...query } = options;
      return readRunPage(await get('/v1/runs', { signal, attempts, idempotencyKey }, { query }));
    },
    listApprovals: async (options = {}) => {
      const { signal, attempts, idempotencyKey, ...query } = options;
      return readApprovalPage(await get('/v1/approvals', { signal, attempts, idempotencyKey }, { query }));
    },
    getApproval: async (approvalId, options) => readApproval(await get(approval(approvalId), options)),
    respond: async (approvalId, body, options) =>
      readApproval(await post(`${approval(approvalId)}/responses`, body, options)),
    requestApproval: (callId, body = {}, options) => post(`${call(callId)}/approvals`, body, options),
    cancel: (callId, reason, options) => post(`${call(callId)}/cancel`, { reason }, options),
    cancelRun: (runId, reason, options) => post(`${run(runId)}/cancel`, { reason }, options),
    claim: async (callId, body, options) => readClaim(await post(`${call(callId)}/claim`, body, options)),
    renew: (callId, body, options) => post(`${call(callId)}/claim/renew`, body, options),
    reportOutcome: (callId, body, options) => post(`${call(callId)}/outcome`, body, options),
    submitOutput: (callId, body, options) => post(`${call(callId)}/output`, body, options),
    events: (options = {}) => readEvents(transport, token, options),
  };
}
