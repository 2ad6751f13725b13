import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ApprovalView, EventView, LogEventView, ResponseView, ToolCallView } from '@countersign/contracts';

/** One request as the server received it. */
export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** A response that replaces the server's. */
interface Intercepted {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A small in-memory server of the HTTP contract, which a test controls. */
export interface ContractServer {
  readonly url: string;
  readonly requests: SeenRequest[];
  readonly approvals: Map<string, ApprovalView>;
  readonly calls: Map<string, ToolCallView>;
  readonly events: EventView[];
  /** Responds instead of the server when it returns a value. */
  intercept: (request: SeenRequest) => Intercepted | 'hang up' | undefined;
  isReady: boolean;
  /** The member `node` of `/healthz`. Undefined: the response has none, as that of an older server. */
  node: object | undefined;
  readonly record: (event: EventView) => void;
  /** Ends the event streams that are open, as a restart would. */
  readonly dropStreams: () => void;
  readonly close: () => Promise<void>;
}

/** The only token that this server accepts. */
export const knownToken = 'token-of-me';

/** Starts a contract server on a free port of this machine. */
export async function startContractServer(): Promise<ContractServer> {
  const streams = new Map<ServerResponse, (event: EventView) => void>();
  const http = createServer((request, response) => {
    void bodyOf(request).then((body) => {
      const { method = 'GET', url: path = '/', headers } = request;
      const seen = { method, path, headers, body };
      server.requests.push(seen);
      const answer = server.intercept(seen) ?? route(server, streams, seen, response);
      if (answer === 'hang up') request.socket.destroy();
      else if (answer === 'streaming') return;
      else {
        if ('headers' in answer) response.setHeaders(new Map(Object.entries(answer.headers ?? {})));
        send(response, answer.status, answer.body);
      }
    });
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const server: ContractServer = {
    url: `http://127.0.0.1:${String((http.address() as AddressInfo).port)}`,
    requests: [],
    approvals: new Map(),
    calls: new Map(),
    events: [],
    isReady: true,
    node: { version: '26.12.1', safe: true },
    intercept: () => undefined,
    record: (event) => {
      server.events.push(event);
      for (const write of streams.values()) write(event);
    },
    dropStreams: () => {
      for (const stream of streams.keys()) stream.destroy();
      streams.clear();
    },
    close: async () => {
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
  return server;
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

function send(response: ServerResponse, status: number, body: unknown): void {
  const type = status >= 400 ? 'application/problem+json' : 'application/json';
  response.writeHead(status, { 'content-type': type }).end(JSON.stringify(body));
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/** A problem document in the server's form. */
export function problem(status: number, code: string, detail: string, more: object = {}): Answer {
  return { status, body: { type: `urn:countersign:${code}`, title: code, status, code, detail, ...more } };
}

function route(
  server: ContractServer,
  streams: Map<ServerResponse, (event: EventView) => void>,
  request: SeenRequest,
  response: ServerResponse,
): Answer | 'streaming' {
  const { pathname, searchParams } = new URL(request.path, server.url);
  if (pathname === '/readyz') return readiness(server);
  if (pathname === '/healthz') return { status: 200, body: { status: 'ok', node: server.node } };
  if (pathname === '/openapi.json') return { status: 200, body: { openapi: '3.1.0', info: { version: '1.2.3' } } };
  if (request.headers.authorization !== `Bearer ${knownToken}`) return problem(401, 'unauthenticated', 'who are you?');
  if (pathname === '/v1/events') {
    const lastEventId = request.headers['last-event-id'];
    return stream(server, streams, searchParams, typeof lastEventId === 'string' ? lastEventId : undefined, response);
  }
  const [, collection = '', id = '', action = ''] = /^\/v1\/([^/]+)(?:\/([^/]+))?(?:\/(.+))?$/.exec(pathname) ?? [];
  if (collection === 'approvals') return approvalRoute(server, request, decodeURIComponent(id), action, searchParams);
  const call = server.calls.get(decodeURIComponent(id));
  if (collection === 'tool-calls' && call !== undefined) return { status: 200, body: call };
  if (collection === 'audit') return auditRoute(server, action);
  return problem(404, 'not-found', 'there is no such thing');
}

function readiness({ isReady }: ContractServer): Answer {
  const checks = { 'event-store': isReady ? { status: 'ok' } : { status: 'failing', why: 'the disk is full' } };
  return { status: isReady ? 200 : 503, body: { status: isReady ? 'ready' : 'not-ready', checks } };
}

function auditRoute({ events, calls }: ContractServer, action: string): Answer {
  const callId = action.replace(/\/events$/, '');
  const mine = events.filter((event) => event.callId === callId && !event.type.startsWith('Notification'));
  return { status: 200, body: { callId, events: mine, toolCall: calls.get(callId) ?? null } };
}

function approvalRoute(
  server: ContractServer,
  request: SeenRequest,
  id: string,
  action: string,
  query: URLSearchParams,
): Answer {
  if (id === '') return listAnswer(server, query);
  if (id === 'responses') return bulkAnswer(server, request);
  const approval = server.approvals.get(id);
  if (approval === undefined) return problem(404, 'unknown-approval', `there is no approval ${id}`);
  if (action !== 'responses') return { status: 200, body: approval };
  if (approval.state !== 'pending') {
    const { respondedBy, respondedAt, via } = approval.responses[0] ?? {};
    return problem(409, 'already-resolved', 'Already over.', {
      resolution: approval.state,
      respondedBy,
      respondedAt,
      via,
    });
  }
  const { decision, reason } = JSON.parse(request.body) as { decision: ResponseView['decision']; reason?: string };
  const state = decision.type === 'deny' ? 'denied' : 'approved';
  const at = new Date().toISOString();
  const response: ResponseView = {
    respondedBy: 'me',
    onBehalfOf: null,
    decision,
    reason: reason ?? null,
    respondedAt: at,
    via: 'cli',
    counted: true,
    number: 1,
  };
  const after: ApprovalView = { ...approval, state, resolution: state, resolvedAt: at, responses: [response] };
  server.approvals.set(id, after);
  return { status: 200, body: after };
}

/** Records a bulk response. An approval of the tool `not_yours` is for others. */
function bulkAnswer(server: ContractServer, request: SeenRequest): Answer {
  const { approvalIds, decision, dryRun } = JSON.parse(request.body) as {
    approvalIds: readonly string[];
    decision: ResponseView['decision'];
    dryRun?: boolean;
  };
  const results = approvalIds.map((approvalId) => {
    const approval = server.approvals.get(approvalId);
    if (approval?.toolName === 'not_yours') {
      const { body } = problem(403, 'not-an-approver', 'Others are asked to answer this approval.');
      return { approvalId, status: 'rejected', problem: body };
    }
    if (dryRun === true) return { approvalId, status: 'possible' };
    const state = decision.type === 'deny' ? 'denied' : 'approved';
    if (approval !== undefined) server.approvals.set(approvalId, { ...approval, state });
    return { approvalId, status: 'done' };
  });
  return { status: 200, body: { results } };
}

function listAnswer(server: ContractServer, query: URLSearchParams): Answer {
  const wanted = [...server.approvals.values()].filter(
    (approval) =>
      approval.state === (query.get('state') ?? 'pending') &&
      (query.get('toolName') ?? approval.toolName) === approval.toolName &&
      (query.get('runId') ?? approval.runId) === approval.runId &&
      (query.get('agentId') ?? approval.agentId) === approval.agentId,
  );
  const from = Number(query.get('cursor') ?? 0);
  const to = from + Number(query.get('limit') ?? 100);
  const nextCursor = to < wanted.length ? String(to) : null;
  return {
    status: 200,
    body: { approvals: wanted.slice(from, to), nextCursor, position: server.events.at(-1)?.position ?? 0 },
  };
}

function stream(
  server: ContractServer,
  streams: Map<ServerResponse, (event: EventView) => void>,
  query: URLSearchParams,
  lastEventId: string | undefined,
  response: ServerResponse,
): Answer | 'streaming' {
  const head = server.events.at(-1)?.position ?? 0;
  const after = lastEventId ?? query.get('after') ?? '0';
  const types = query.get('types')?.split(',');
  const write = (event: EventView): void => {
    const { data } = event as LogEventView;
    if (types !== undefined && !types.includes(data === null ? 'unreadable' : event.type)) return;
    if (query.get('callId') !== null && query.get('callId') !== event.callId) return;
    response.write(`id: ${String(event.position)}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  };
  if (Number(after) > head) return problem(409, 'future-position', 'the log has not given out that position');
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(after === 'now' ? `: hello\nid: ${String(head)}\n\n` : ': hello\n\n');
  const place = after === 'now' ? head : Number(after);
  for (const event of server.events) if (event.position > place) write(event);
  if (query.get('callId') !== null) response.write(': caught up\n\n');
  streams.set(response, write);
  response.on('close', () => streams.delete(response));
  return 'streaming';
}
