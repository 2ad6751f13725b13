import type { RequestedCall, RequestToolCalls, RespondBody, ToolCallView } from '@countersign/contracts';

/** A server as a worker sees it, and the people and the time around it. */
export interface WorkerServer {
  readonly url: string;
  readonly fetch: typeof fetch;
  readonly token: string;
  readonly resolverToken: () => string;
  /** A person responds to the pending approval of a call. */
  readonly respond: (call: ToolCallView, response: RespondBody) => Promise<void>;
  /** Returns when the pending approval of a call has expired. It was requested with `expiresInMs: 1`. */
  readonly expire: (call: ToolCallView) => Promise<void>;
  /** Returns when the lease of a claim is over. It was claimed with `leaseMs: 1`. */
  readonly endLease: (call: ToolCallView) => Promise<void>;
  /** An admin reconciles a call of unknown outcome with `retry`. */
  readonly retry: (call: ToolCallView) => Promise<void>;
  /** From now on the resolver's token may or may not claim. */
  readonly setMayClaim: (mayClaim: boolean) => void;
  readonly close: () => Promise<void>;
}

/** A response, as far as a worker reads it. */
export interface Answer {
  readonly status: number;
  readonly type: string | null;
  readonly body: unknown;
}

export type Send = (method: 'GET' | 'POST', path: string, body?: unknown, key?: string) => Promise<Answer>;

/** The requests of a worker, without the SDK: the SDK would hide what it does not read. */
export interface Sender {
  readonly agent: Send;
  readonly resolver: Send;
  /** Requests calls in a run of their own, and fails unless they are recorded. */
  readonly ask: (
    calls: readonly Partial<RequestedCall>[],
    step?: Partial<RequestToolCalls>,
  ) => Promise<readonly ToolCallView[]>;
  /** Requests one call in a run of its own. */
  readonly askOne: (call?: Partial<RequestedCall>) => Promise<ToolCallView>;
  readonly read: (call: ToolCallView) => Promise<ToolCallView>;
  /** Claims a call, and fails unless it is claimed. */
  readonly claim: (call: ToolCallView, leaseMs?: number) => Promise<void>;
}

let runs = 0;
export const nextRun = (): string => `run-${String((runs += 1))}`;
export const sampleCall = { toolCallId: 'call-1', toolName: 'refund', arguments: { amount: 50 } };
export const pathOf = ({ callId }: ToolCallView, action = ''): string => `/v1/tool-calls/${callId}${action}`;

export function createSender(server: () => WorkerServer): Sender {
  const sendAs =
    (token: () => string): Send =>
    async (method, path, body, key) => {
      const headers = {
        authorization: `Bearer ${token()}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(key === undefined ? {} : { 'idempotency-key': key }),
      };
      const content = body === undefined ? {} : { body: JSON.stringify(body) };
      const response = await server().fetch(`${server().url}${path}`, { method, headers, ...content });
      return { status: response.status, type: response.headers.get('content-type'), body: await response.json() };
    };
  const agent = sendAs(() => server().token);
  const resolver = sendAs(() => server().resolverToken());
  const ask: Sender['ask'] = async (calls, step = {}) => {
    const body = {
      runId: nextRun(),
      agentId: 'biller',
      ...step,
      calls: calls.map((call) => ({ ...sampleCall, ...call })),
    };
    return (must(await agent('POST', '/v1/tool-calls', body)) as { calls: ToolCallView[] }).calls;
  };
  return {
    agent,
    resolver,
    ask,
    askOne: async (call = {}) => {
      const [view] = await ask([call]);
      if (view === undefined) throw new Error('no call was recorded');
      return view;
    },
    read: async (call) => must(await agent('GET', pathOf(call))) as ToolCallView,
    claim: async (call, leaseMs) => {
      const body = { resolverId: 'worker', ...(leaseMs === undefined ? {} : { leaseMs }) };
      must(await resolver('POST', pathOf(call, '/claim'), body));
    },
  };
}

function must({ status, body }: Answer): unknown {
  if (status >= 300) throw new Error(`${String(status)} ${JSON.stringify(body)}`);
  return body;
}
