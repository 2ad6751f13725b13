import { isSettled, limits, otherSchema, type JsonValue, type RequestToolCalls } from '@countersign/contracts';
import { isSameJson } from '../schema.js';
import { cancelCall, moveTo, newApproval, newFakeCall, type FakeCall } from './fake-calls.js';

/** The bodies of all requests: the SDK must follow the contract. */
export type AnyBody = Partial<RequestToolCalls> & {
  readonly attempt?: number;
  readonly status?: 'succeeded' | 'failed';
  readonly output?: JsonValue;
  readonly error?: JsonValue;
  readonly reason?: string;
};

/** Answers a request as the server does. */
export function route(
  calls: Map<string, FakeCall>,
  publish: (call: FakeCall) => void,
  target: string,
  body: AnyBody,
): Response {
  if (target === 'POST /v1/tool-calls') return requestCalls(calls, body);
  const [, verb, runId] = /^(GET|POST) \/v1\/runs\/([^/]+)(?:\/cancel)?$/.exec(target) ?? [];
  if (runId !== undefined) {
    const inRun = [...calls.values()].filter(({ view }) => view.runId === decodeURIComponent(runId));
    for (const call of inRun) {
      if (verb === 'POST' && cancel(call, body).ok) publish(call);
    }
    return runOf(calls, decodeURIComponent(runId));
  }
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
  const index = known.findIndex((call, at) => call.requestedDigest !== made[at]?.requestedDigest);
  if (index >= 0) return refuse(409, 'tool-call-mismatch', differenceOf(known[index], made[index]));
  for (const call of known) calls.set(call.view.callId, call);
  return Response.json({ calls: known.map(({ view }) => view) }, { status: 201 });
}

function differenceOf(known: FakeCall | undefined, made: FakeCall | undefined): string | undefined {
  const isSame = isSameJson(known?.request.arguments, made?.request.arguments);
  return isSame && known?.digestInput.toolSchemaHash !== made?.digestInput.toolSchemaHash ? otherSchema : undefined;
}

/** One page of the calls that are asked for. A cursor is the id of the last call before the page. */
export function listCalls(calls: ReadonlyMap<string, FakeCall>, query: URLSearchParams): Response {
  const isWanted = (name: string, value: string): boolean => query.get(name)?.split(',').includes(value) ?? true;
  const all = [...calls.values()];
  if (query.get('order') !== 'oldest') all.reverse();
  const start = all.findIndex(({ view }) => view.callId === query.get('cursor')) + 1;
  const found = all
    .slice(start)
    .filter(
      ({ view }) =>
        isWanted('state', view.state) &&
        isWanted('agentId', view.agentId) &&
        isWanted('runId', view.runId) &&
        isWanted('toolName', view.toolName),
    );
  const page = found.slice(0, Number(query.get('limit') ?? limits.pageSizeDefault)).map(({ view }) => view);
  return Response.json({ calls: page, nextCursor: page.length < found.length ? page.at(-1)?.callId : null });
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
    case 'POST cancel':
      return cancel(call, body);
    default:
      return refuse(404, 'not-found');
  }
}

function cancel(call: FakeCall, { reason = '' }: AnyBody): Response {
  const { view } = call;
  if (view.state === 'executing') return refuse(409, 'already-claimed');
  if (isSettled(view.state)) return refuse(409, 'already-settled');
  cancelCall(call, reason);
  return Response.json(view);
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

export function refuse(status: number, code: string, detail = code): Response {
  return Response.json({ type: 'about:blank', title: code, status, code, detail }, { status });
}
