import { type JsonObject, type JsonValue, type ResponseView, type ToolCallView } from '@countersign/contracts';
import { cancelCall, editArguments, moveTo, resolveApproval, type FakeCall } from './fake-calls.js';
import { listCalls, refuse, route, type AnyBody } from './fake-routes.js';

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
  /** A person reconciled the call with `retry`: it can be claimed once more. */
  readonly retry: (toolCallId: string) => void;
  /** While it is away, every request fails and open event streams break. */
  readonly setAway: (isAway: boolean) => void;
  /** While tokens may not claim, every claim is refused, like that of a token without the role resolver. */
  readonly setMayClaim: (mayClaim: boolean) => void;
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
  const status = { isAway: false, mayClaim: true, position: 0 };

  const publish = (call: FakeCall): void => {
    status.position += 1;
    const { callId, runId, toolCallId, toolName, agentId } = call.view;
    const id = String(status.position);
    const names = { callId, runId, toolCallId, toolName, agentId };
    const data = JSON.stringify({ type: 'Changed', position: status.position, ...names, data: {} });
    for (const stream of streams) stream.enqueue(new TextEncoder().encode(`id: ${id}\ndata: ${data}\n\n`));
    for (const wake of [...polls]) wake();
  };
  /** Resolves at the next change, after `waitMs`, or when the request is aborted. */
  const nextChange = (waitMs: number, signal: AbortSignal | null | undefined): Promise<void> =>
    new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        polls.delete(wake);
        signal?.removeEventListener('abort', wake);
        resolve();
      };
      const timer = setTimeout(wake, waitMs);
      polls.add(wake);
      signal?.addEventListener('abort', wake);
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
      if (waitMs > 0 && isPending(calls, url.pathname)) await nextChange(waitMs, init?.signal);
      init?.signal?.throwIfAborted();
      const text = typeof init?.body === 'string' ? init.body : 'null';
      const target = `${init?.method ?? 'GET'} ${url.pathname}`;
      if (target === 'GET /v1/tool-calls') return listCalls(calls, url.searchParams);
      if (!status.mayClaim && /\/claim(?:\/renew)?$/.test(url.pathname)) return refuse(403, 'forbidden');
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
    cancel: (toolCallId, reason) => change(toolCallId, (call) => cancelCall(call, reason)),
    loseWorker: (toolCallId) =>
      change(toolCallId, (call) => moveTo(call, call.request.idempotent === true ? 'approved' : 'unknown')),
    retry: (toolCallId) => change(toolCallId, (call) => moveTo(call, 'approved')),
    setAway: (isAway) => {
      status.isAway = isAway;
      if (!isAway) return;
      for (const stream of streams) stream.error(new TypeError('terminated'));
      streams.clear();
    },
    setMayClaim: (mayClaim) => {
      status.mayClaim = mayClaim;
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
