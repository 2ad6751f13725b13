import { isDecided, isSettled, type JsonObject, type JsonValue, type ToolCallView } from '@countersign/contracts';
import type { FakeCall } from './fake-calls.js';
import { cancel, claimableState, expire, moveTo, proposeEdit, respond } from './fake-life.js';
import type { FakeLedger, FakeRemarks } from './fake-life.js';
import { createFakeLog } from './fake-log.js';
import { refuse } from './fake-problem.js';
import { route } from './fake-routes.js';

/** A Countersign in memory, to test agents with: no network, no policy, no clock. Calls are named by toolCallId. */
export interface FakeCountersign {
  /** For `createWorker` and `createClient`; any `url` and `token` will do. */
  readonly fetch: typeof fetch;
  readonly approve: (toolCallId: string, remarks?: FakeRemarks) => void;
  readonly edit: (toolCallId: string, args: JsonObject, remarks?: FakeRemarks) => void;
  /** One of two people edits: the approval is pending, and asks about these arguments. */
  readonly proposeEdit: (toolCallId: string, args: JsonObject) => void;
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
  const ledger: FakeLedger = { calls: new Map(), log: createFakeLog() };
  const status = { isAway: false, mayClaim: true };
  const keyed = new Map<string, { readonly body: string; readonly answer: Promise<Response> }>();

  const answer = async (method: string, url: URL, body: string): Promise<Response> => {
    if (!status.mayClaim && /\/claim(?:\/renew)?$/.test(url.pathname)) return refuse('forbidden');
    return route(ledger, method, url, JSON.parse(body));
  };
  /** A request with the key of an earlier one is the same command. A claim is returned again while it is the latest. */
  const answerOnce = async (key: string, ...request: Parameters<typeof answer>): Promise<Response> => {
    const [method, url, body] = request;
    const scope = `${method} ${url.pathname} ${key}`;
    const first = keyed.get(scope) ?? { body, answer: answer(...request) };
    if (first.body !== body) return refuse('idempotency-key-reused');
    keyed.set(scope, first);
    const response = (await first.answer).clone();
    // Nothing was recorded, so a repeat is judged again.
    if (!response.ok) keyed.delete(scope);
    const isClaim = response.ok && url.pathname.endsWith('/claim');
    return (isClaim ? await endOfClaim(ledger, url, response.clone()) : undefined) ?? response;
  };
  const byToolCallId = (toolCallId: string): FakeCall => {
    const found = [...ledger.calls.values()].findLast((call) => call.view.toolCallId === toolCallId);
    if (found === undefined) throw new Error(`no call ${toolCallId} was requested`);
    return found;
  };
  return {
    fetch: async (input, init) => {
      if (status.isAway) throw new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED') });
      const { method = 'GET', signal = null, headers: given, body } = init ?? {};
      signal?.throwIfAborted();
      const url = new URL(input instanceof Request ? input.url : input.toString());
      const headers = new Headers(given);
      const key = headers.get('idempotency-key');
      if (url.pathname === '/v1/events') return ledger.log.openStream(url.searchParams, headers, signal ?? undefined);
      await waitFor(ledger, url, signal ?? undefined);
      signal?.throwIfAborted();
      const text = typeof body === 'string' ? body : 'null';
      return key === null || method === 'GET' ? answer(method, url, text) : answerOnce(key, method, url, text);
    },
    approve: (toolCallId, remarks) => respond(ledger, byToolCallId(toolCallId), { type: 'approve' }, remarks),
    edit: (toolCallId, args, remarks) =>
      respond(ledger, byToolCallId(toolCallId), { type: 'edit', arguments: args }, remarks),
    proposeEdit: (toolCallId, args) => proposeEdit(byToolCallId(toolCallId), args),
    deny: (toolCallId, remarks) => respond(ledger, byToolCallId(toolCallId), { type: 'deny' }, remarks),
    answer: (toolCallId, output, remarks) =>
      respond(ledger, byToolCallId(toolCallId), { type: 'answer', output }, remarks),
    expire: (toolCallId) => expire(ledger, byToolCallId(toolCallId)),
    cancel: (toolCallId, reason) => cancel(ledger, byToolCallId(toolCallId), reason),
    loseWorker: (toolCallId) => {
      const call = byToolCallId(toolCallId);
      if (call.request.idempotent === true) return moveTo(ledger, call, 'ExecutionLapsed', claimableState(call));
      const message = `The lease of ${call.claim?.resolverId ?? 'a worker'} ended without a report.`;
      return moveTo(ledger, call, 'ExecutionOutcomeUnknown', 'unknown', { error: { code: 'unknown', message } });
    },
    retry: (toolCallId) => {
      const call = byToolCallId(toolCallId);
      moveTo(ledger, call, 'ExecutionReconciled', claimableState(call), { error: null });
    },
    setAway: (isAway) => {
      status.isAway = isAway;
      if (isAway) ledger.log.breakStreams();
    },
    setMayClaim: (mayClaim) => {
      status.mayClaim = mayClaim;
    },
    callOf: (toolCallId) => structuredClone(byToolCallId(toolCallId).view),
  };
}

/** Why a claim is not returned again; undefined while it is the latest. */
async function endOfClaim({ calls }: FakeLedger, url: URL, response: Response): Promise<Response | undefined> {
  const { attempt } = (await response.json()) as { readonly attempt: number };
  const call = calls.get(url.pathname.split('/')[3] ?? '');
  if (call === undefined || isSettled(call.view.state)) return refuse('already-settled');
  const isLatest = call.view.state === 'executing' && call.claim?.attempt === attempt;
  return isLatest ? undefined : refuse('already-claimed');
}

/** A long poll: waits until the call is decided or settled. */
async function waitFor({ calls, log }: FakeLedger, url: URL, signal: AbortSignal | undefined): Promise<void> {
  const waitMs = Number(url.searchParams.get('waitMs') ?? 0);
  const call = calls.get(url.pathname.split('/')[3] ?? '');
  if (waitMs === 0 || call === undefined) return;
  const hasReached = url.searchParams.get('until') === 'settled' ? isSettled : isDecided;
  await log.wait(() => hasReached(call.view.state), waitMs, signal);
}
