import type { ApprovalView, ToolCallView } from '@countersign/contracts';
import { documented } from './documented.js';
import type { World } from './world.js';

/** One response, with its body parsed if it is JSON. */
export interface Reply<T> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: T;
}

/** The optional parts of a request. */
export interface Sent {
  /** Without `-token`: `agent`, `ann`, …; null: none. */
  readonly as?: string | null;
  readonly body?: unknown;
  /** Sent as it is, in place of `body`. */
  readonly raw?: string | Uint8Array<ArrayBuffer>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** The API as specs use it; every response is checked against the OpenAPI document. */
export interface Api {
  readonly send: <T = Record<string, unknown>>(method: string, path: string, sent?: Sent) => Promise<Reply<T>>;
  /** Requests one call as `agent` and returns it. */
  readonly request: (
    call?: Readonly<Record<string, unknown>>,
    more?: Readonly<Record<string, unknown>>,
  ) => Promise<ToolCallView>;
  /** Requests one call that needs an approval, and returns the approval. */
  readonly pending: (
    call?: Readonly<Record<string, unknown>>,
    more?: Readonly<Record<string, unknown>>,
  ) => Promise<ApprovalView>;
}

let runs = 0;

/** A client of a world. */
export function createApi(world: World): Api {
  const send = async <T>(method: string, path: string, sent: Sent = {}): Promise<Reply<T>> => {
    const { as = 'agent', body, raw, headers, signal } = sent;
    const payload = raw ?? (body === undefined ? null : JSON.stringify(body));
    const response = await fetch(`${world.url}${path}`, {
      method,
      headers: {
        ...(as === null ? {} : { authorization: `Bearer ${as}-token` }),
        ...(payload === null ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      body: payload,
      signal: signal ?? null,
    });
    const text = await response.text();
    const contentType = response.headers.get('content-type') ?? '';
    const answer: unknown = contentType.includes('json') && !contentType.includes('ndjson') ? JSON.parse(text) : text;
    documented().checkResponse(method, path, response.status, contentType, answer);
    documented().checkHeaders(method, path, response.status, response.headers);
    if (response.ok && method === 'POST' && raw === undefined) documented().checkAccepted(method, path, body);
    return { status: response.status, headers: response.headers, body: answer as T };
  };
  const request: Api['request'] = async (call = {}, more = {}) => {
    runs += 1;
    const body = {
      runId: `run-${runs}`,
      calls: [{ toolCallId: 'call-1', toolName: 'delete_file', arguments: {}, ...call }],
      ...more,
    };
    const { body: answer, status } = await send<{ calls: ToolCallView[] }>('POST', '/v1/tool-calls', { body });
    const [requested] = answer.calls;
    if (status !== 201 || requested === undefined)
      throw new Error(`the call was not recorded: ${JSON.stringify(answer)}`);
    return requested;
  };
  const pending: Api['pending'] = async (call, more) => {
    const { approval } = await request({ needsApproval: true, ...call }, more);
    if (approval === null) throw new Error('the call has no pending approval');
    return approval;
  };
  return { send, request, pending };
}
