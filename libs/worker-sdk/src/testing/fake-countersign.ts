import {
  isSettled,
  type JsonObject,
  type JsonValue,
  type RequestToolCalls,
  type ResponseView,
  type ToolCallView,
} from '@countersign/contracts';
import { editArguments, moveTo, newApproval, newFakeCall, resolveApproval, type FakeCall } from './fake-calls.js';

/** The comment or reason with a decision. */
export interface FakeRemarks {
  readonly reason?: string;
  readonly instruction?: string;
}

/** A Countersign in memory, to test agents with: no network, no policy, no clock. Calls are named by toolCallId. */
export interface FakeCountersign {
  /** For `createWorker` and `createClient`; any `url` and `token` will do. */
  readonly fetch: typeof fetch;
  readonly approve: (toolCallId: string, remarks?: FakeRemarks) => void;
  readonly edit: (toolCallId: string, args: JsonObject, remarks?: FakeRemarks) => void;
  readonly deny: (toolCallId: string, remarks?: FakeRemarks) => void;
  readonly answer: (toolCallId: string, output: JsonValue, remarks?: FakeRemarks) => void;
  /** There was no response in time. */
  readonly expire: (toolCallId: string) => void;
  readonly cancel: (toolCallId: string, reason: string) => void;
  /** The worker that claimed the call was never heard of again. */
  readonly loseWorker: (toolCallId: string) => void;
  /** While it is away, every request fails and open event streams break. */
  readonly setAway: (isAway: boolean) => void;
  readonly callOf: (toolCallId: string) => ToolCallView;
}

/**
 * @example
 * const { state } = await worker.step({ runId: 'run-1', toolCalls });
 * countersign.deny('call_1', { reason: 'not yet' });
 * const { results } = await worker.wait(state);
 */
export function createFakeCountersign(): FakeCountersign {
  const calls = new Map<string, FakeCall>();
  const streams = new Set<ReadableStreamDefaultController<Uint8Array>>();
  const polls = new Set<() => void>();
  const status = { isAway: false, position: 0 };

  const publish = (call: FakeCall): void => {
    status.position += 1;
    const { callId, runId } = call.view;
    const id = String(status.position);
    const data = JSON.stringify({ type: 'Changed', position: status.position, callId, runId, data: {} });
    for (const stream of streams) stream.enqueue(new TextEncoder().encode(`id: ${id}\ndata: ${data}\n\n`));
    for (const wake of [...polls]) wake();
  };
  /** Resolves at the next change, or after `waitMs`. */
  const nextChange = (waitMs: number): Promise<void> =>
    new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        polls.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, waitMs);
      polls.add(wake);
    });
  const byToolCallId = (toolCallId: string): FakeCall => {
    const found = [...calls.values()].findLast((call) => call.view.toolCallId === toolCallId);
    if (found === undefined) throw new Error(`no call ${toolCallId} was requested`);
    return found;
  };
  const change = (toolCallId: string, work: (call: FakeCall) => void): void => {
    const call = byToolCallId(toolCallId);
    work(call);
    publish(call);
  };
  const openStream = (signal: AbortSignal | undefined): Response => {
    let end = (): void => undefined;
    const stream = new ReadableStream<Uint8Array>({
      start: (controller) => {
        streams.add(controller);
        // Like the real fetch: the stream ends when its reader aborts.
        end = () => {
          if (streams.delete(controller)) controller.error(new DOMException('aborted', 'AbortError'));
        };
      },
      cancel: () => {
        end();
      },
    });
    signal?.addEventListener('abort', end, { once: true });
    return new Response(stream, { headers: { 'content-type': 'text/event-stream' } });
  };
  return {
    fetch: async (input, init) => {
      if (status.isAway) throw new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED') });
      init?.signal?.throwIfAborted();
      const url = new URL(input instanceof Request ? input.url : input.toString());
      if (url.pathname === '/v1/events') return openStream(init?.signal ?? undefined);
      const waitMs = Number(url.searchParams.get('waitMs') ?? 0);
      if (waitMs > 0 && isPending(calls, url.pathname)) await nextChange(waitMs);
      const text = typeof init?.body === 'string' ? init.body : 'null';
      const target = `${init?.method ?? 'GET'} ${url.pathname}`;
      if (target === 'GET /v1/tool-calls') return listCalls(calls, url.searchParams);
      return route(calls, publish, target, JSON.parse(text) as AnyBody);
    },
    approve: (toolCallId, remarks) => change(toolCallId, (call) => decide(call, { type: 'approve' }, remarks)),
    edit: (toolCallId, args, remarks) =>
      change(toolCallId, (call) => {
        decide(call, { type: 'edit', arguments: args }, remarks);
        editArguments(call, args);
      }),
    deny: (toolCallId, remarks) => change(toolCallId, (call) => decide(call, { type: 'deny' }, remarks)),
    answer: (toolCallId, output, remarks) =>
      change(toolCallId, (call) => decide(call, { type: 'answer', output }, remarks)),
    expire: (toolCallId) =>
      change(toolCallId, (call) => {
        resolveApproval(call, 'expired');
        moveTo(call, 'expired');
      }),
    cancel: (toolCallId, reason) =>
      change(toolCallId, (call) => {
        if (call.view.approval?.state === 'pending') resolveApproval(call, 'cancelled');
        moveTo(call, 'cancelled', { error: { code: 'cancelled', message: reason } });
      }),
    loseWorker: (toolCallId) =>
      change(toolCallId, (call) => moveTo(call, call.request.idempotent === true ? 'approved' : 'unknown')),
    setAway: (isAway) => {
      status.isAway = isAway;
      if (!isAway) return;
      for (const stream of streams) stream.error(new TypeError('terminated'));
      streams.clear();
    },
    callOf: (toolCallId) => structuredClone(byToolCallId(toolCallId).view),
  };
}

function isPending(calls: ReadonlyMap<string, FakeCall>, path: string): boolean {
  return calls.get(decodeURIComponent(path.split('/')[3] ?? ''))?.view.state === 'awaiting_approval';
}

function decide(call: FakeCall, decision: ResponseView['decision'], remarks: FakeRemarks = {}): void {
  const { reason = null, instruction = null } = remarks;
  resolveApproval(call, decision.type === 'deny' ? 'denied' : 'approved', { decision, reason });
  if (decision.type === 'deny') moveTo(call, 'denied', { instruction });
  else if (decision.type === 'answer') moveTo(call, 'succeeded', { output: decision.output, instruction });
  else moveTo(call, 'approved', { instruction });
}

/** The bodies of all requests: the SDK must follow the contract. */
type AnyBody = Partial<RequestToolCalls> & {
  readonly attempt?: number;
  readonly status?: 'succeeded' | 'failed';
  readonly output?: JsonValue;
  readonly error?: JsonValue;
};

function route(
  calls: Map<string, FakeCall>,
  publish: (call: FakeCall) => void,
  target: string,
  body: AnyBody,
): Response {
  if (target === 'POST /v1/tool-calls') return requestCalls(calls, body);
  const run = /^GET \/v1\/runs\/(.+)$/.exec(target)?.[1];
  if (run !== undefined) return runOf(calls, decodeURIComponent(run));
  const [, method = '', callId = '', action = ''] =
    /^(GET|POST) \/v1\/tool-calls\/([^/]+)(?:\/(.+))?$/.exec(target) ?? [];
  const call = calls.get(callId);
  if (call === undefined) return refuse(404, 'not-found');
  const answer = onCall(calls, call, `${method} ${action}`, body);
  if (answer.ok && method === 'POST') publish(call);
  return answer;
}

function requestCalls(calls: Map<string, FakeCall>, body: AnyBody): Response {
  const { runId = '', agentId = 'agent', batchId = null, batchMode = 'independent', calls: requests = [] } = body;
  const made = requests.map((request) => newFakeCall({ runId, agentId, batchId, batchMode }, request));
  const known = made.map((call) => calls.get(call.view.callId) ?? call);
  const isOther = known.some((call, index) => call.requestedDigest !== made[index]?.requestedDigest);
  if (isOther) return refuse(409, 'tool-call-mismatch');
  for (const call of known) calls.set(call.view.callId, call);
  return Response.json({ calls: known.map(({ view }) => view) }, { status: 201 });
}

/** All in one page, the oldest first. */
function listCalls(calls: ReadonlyMap<string, FakeCall>, query: URLSearchParams): Response {
  const isWanted = (name: string, value: string): boolean => query.get(name)?.split(',').includes(value) ?? true;
  const found = [...calls.values()].filter(
    ({ view }) =>
      isWanted('state', view.state) &&
      isWanted('agentId', view.agentId) &&
      isWanted('runId', view.runId) &&
      isWanted('toolName', view.toolName),
  );
  return Response.json({ calls: found.map(({ view }) => view), nextCursor: null });
}

function runOf(calls: ReadonlyMap<string, FakeCall>, runId: string): Response {
  const views = [...calls.values()].map(({ view }) => view).filter((view) => view.runId === runId);
  return views.length === 0 ? refuse(404, 'not-found') : Response.json({ runId, calls: views });
}

function onCall(calls: ReadonlyMap<string, FakeCall>, call: FakeCall, action: string, body: AnyBody): Response {
  const { view } = call;
  switch (action) {
    case 'GET ':
      return Response.json(view);
    case 'POST claim':
      return claim(calls, call);
    case 'POST claim/renew':
      return body.attempt === call.attempt && view.state === 'executing'
        ? Response.json({})
        : refuse(409, 'stale-claim');
    case 'POST outcome':
      if (body.attempt !== call.attempt) return refuse(409, 'stale-claim');
      return settle(call, body);
    case 'POST output':
      if (view.state !== 'allowed' && view.state !== 'approved') return refuse(409, 'not-approved');
      return settle(call, body);
    case 'POST approvals':
      if (view.state !== 'expired' && view.state !== 'allowed') return refuse(409, 'already-resolved');
      view.approval = newApproval(call, (view.approval?.round ?? 0) + 1);
      moveTo(call, 'awaiting_approval', { error: null });
      return Response.json(view, { status: 201 });
    default:
      return refuse(404, 'not-found');
  }
}

function claim(calls: ReadonlyMap<string, FakeCall>, call: FakeCall): Response {
  const { view } = call;
  if (view.state === 'executing') return refuse(409, 'already-claimed');
  if (isSettled(view.state)) return refuse(409, 'already-settled');
  if (view.state === 'awaiting_approval' || call.request.clientExecuted === true) return refuse(409, 'not-approved');
  const batch = [...calls.values()].filter(
    (other) => other.view.runId === view.runId && other.view.batchId === view.batchId,
  );
  const isOpen = batch.some((other) => other.view.state === 'awaiting_approval');
  if (call.batchMode === 'all-or-nothing' && isOpen) return refuse(409, 'batch-incomplete');
  call.attempt += 1;
  moveTo(call, 'executing');
  return Response.json({
    attempt: call.attempt,
    arguments: view.arguments,
    actionDigest: view.actionDigest,
    digestInput: call.digestInput,
    idempotencyKey: view.callId,
    leaseUntil: '2030-01-01T00:01:00.000Z',
  });
}

function settle(call: FakeCall, { status, output = null, error = null }: AnyBody): Response {
  moveTo(call, status === 'succeeded' ? 'succeeded' : 'failed', status === 'succeeded' ? { output } : { error });
  return Response.json(call.view);
}

function refuse(status: number, code: string): Response {
  return Response.json({ type: 'about:blank', title: code, status, code, detail: code }, { status });
}
