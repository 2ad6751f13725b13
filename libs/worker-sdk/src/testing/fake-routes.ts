import {
  cancelSchema,
  claimSchema,
  clientOutputSchema,
  isSettled,
  limits,
  outcomeSchema,
  renewClaimSchema,
  requestApprovalSchema,
  requestToolCallsSchema,
  type RequestApprovalBody,
  type ToolCallView,
} from '@countersign/contracts';
import type { z } from 'zod';
import type { FakeCall } from './fake-calls.js';
import { claim, renewClaim, reportOutcome, submitOutput } from './fake-executions.js';
import { ask, cancel, siblingsOf, type FakeLedger } from './fake-life.js';
import { refuse, refuseBody } from './fake-problem.js';
import { requestCalls } from './fake-requests.js';

type Work<T> = (body: T) => Response | Promise<Response>;
type Handler = (body: unknown) => Response | Promise<Response>;

/** Checks a body as the server does. */
function parsed<T>(schema: z.ZodType<T>, work: Work<T>): Handler {
  return (body) => {
    const { success, data, error } = schema.safeParse(body);
    return success ? work(data) : refuseBody(error);
  };
}

/** Answers a request as the server does. */
export async function route(ledger: FakeLedger, method: string, url: URL, body: unknown): Promise<Response> {
  const [, , kind = '', id, ...rest] = url.pathname.split('/').map(decodeURIComponent);
  const target = `${method} ${kind} ${rest.join('/')}`;
  if (id === undefined) return onAll(ledger, `${method} ${kind}`, url.searchParams, body);
  if (kind === 'runs') return onRun(ledger, id, target, body);
  const call = kind === 'tool-calls' ? ledger.calls.get(id) : undefined;
  const handler = call && handlersOf(ledger, call)[`${method} ${rest.join('/')}`];
  return handler === undefined ? refuse('not-found') : handler(body);
}

/** The agent of a first start. */
const fakeAgent = {
  ...{ principal: 'agent', tenant: 'default', roles: ['agent'], groups: [], agentIds: ['*'] },
  ...{ credential: 'token:0123456789abcdef', expiresAt: null },
};

function onAll(
  ledger: FakeLedger,
  target: string,
  query: URLSearchParams,
  body: unknown,
): Response | Promise<Response> {
  if (target === 'GET me') return Response.json(fakeAgent);
  if (target === 'GET tool-calls') return listCalls(ledger, query);
  if (target !== 'POST tool-calls') return refuse('not-found');
  return parsed(requestToolCallsSchema, (request) => requestCalls(ledger, request))(body);
}

function onRun(ledger: FakeLedger, runId: string, target: string, body: unknown): Response | Promise<Response> {
  const calls = [...ledger.calls.values()].filter(({ view }) => view.runId === runId);
  if (calls.length === 0) return refuse('not-found');
  if (target === 'GET runs ') return Response.json(runOf(runId, calls));
  if (target !== 'POST runs cancel') return refuse('not-found');
  return parsed(cancelSchema, ({ reason }) => cancelRun(ledger, runId, calls, reason))(body);
}

function runOf(runId: string, calls: readonly FakeCall[]): object {
  const views = calls.map(({ view }) => view);
  const pendingApprovals = views.flatMap(({ approval }) => (approval?.state === 'pending' ? [approval] : []));
  const hasPendingApprovals = pendingApprovals.length > 0;
  const stopReason = hasPendingApprovals ? 'awaiting_approval' : null;
  return { runId, stopReason, hasPendingApprovals, pendingApprovals, calls: views };
}

function cancelRun(ledger: FakeLedger, runId: string, calls: readonly FakeCall[], reason: string): Response {
  const cancelled: string[] = [];
  const notCancelled: object[] = [];
  for (const call of calls.filter(({ view }) => !isSettled(view.state))) {
    const { callId } = call.view;
    const code = call.view.state === 'cancelled' ? undefined : notCancellable(ledger, call);
    if (code === undefined && call.view.state !== 'cancelled') cancel(ledger, call, reason);
    if (code === undefined) cancelled.push(callId);
    else notCancelled.push({ callId, code, detail: code });
  }
  return Response.json({ runId, cancelled, notCancelled });
}

/** One page of the calls that are asked for. A cursor is the id of the last call before the page. */
function listCalls({ calls, log }: FakeLedger, query: URLSearchParams): Response {
  const isWanted = (name: string, value: string): boolean => query.get(name)?.split(',').includes(value) ?? true;
  const all = [...calls.values()].map(({ view }) => view);
  if (query.get('order') !== 'oldest') all.reverse();
  const start = all.findIndex(({ callId }) => callId === query.get('cursor')) + 1;
  const filters = ['state', 'agentId', 'runId', 'toolName'] as const;
  const found = all.slice(start).filter((view) => filters.every((name) => isWanted(name, view[name])));
  const page = found.slice(0, Number(query.get('limit') ?? limits.pageSizeDefault));
  const nextCursor = page.length < found.length ? page.at(-1)?.callId : null;
  return Response.json({ calls: page, nextCursor, position: log.position() });
}

function handlersOf(ledger: FakeLedger, call: FakeCall): Readonly<Record<string, Handler | undefined>> {
  return {
    'GET ': () => Response.json(call.view),
    'POST approvals': parsed(requestApprovalSchema.nullable(), (question) => askAgain(ledger, call, question ?? {})),
    'POST cancel': parsed(cancelSchema, ({ reason }) => {
      const code = notCancellable(ledger, call);
      if (code === 'already-settled') return refuse(code, { state: call.view.state });
      if (code !== undefined) return refuse(code);
      cancel(ledger, call, reason);
      return Response.json(call.view);
    }),
    'POST claim': parsed(claimSchema, (body) => claim(ledger, call, body)),
    'POST claim/renew': parsed(renewClaimSchema, (body) => renewClaim(ledger, call, body)),
    'POST outcome': parsed(outcomeSchema, (body) => reportOutcome(ledger, call, body)),
    'POST output': parsed(clientOutputSchema, (body) => submitOutput(ledger, call, body)),
  };
}

function askAgain(ledger: FakeLedger, call: FakeCall, question: RequestApprovalBody): Response {
  const { state, approval }: ToolCallView = call.view;
  if (state === 'awaiting_approval') return refuse('already-pending', { approvalId: approval?.approvalId });
  if (state !== 'allowed' && state !== 'expired') return refuse('already-resolved', { state });
  ask(ledger, call, question);
  return Response.json(call.view.approval, { status: 201 });
}

function notCancellable(ledger: FakeLedger, call: FakeCall) {
  const { state } = call.view;
  if (isSettled(state)) return 'already-settled';
  if (call.claim !== null) return 'already-claimed';
  const hasBegun = siblingsOf(ledger, call).some((one) => one.claim !== null);
  return hasBegun ? 'batch-begun' : undefined;
}
