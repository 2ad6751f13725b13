import { createServer, get } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { KafkaBus } from '@countersign/message-bus/kafka';
import { openConnection } from '../http-client.ts';
import type { Connection } from '../http-client.ts';
import { createRequest } from './requests.ts';

/** The times of the steps of one call, on this process's clock. */
export interface Marks {
  sentAt: number;
  /** The broker has the request. */
  ackedAt: number;
  /** A gateway shows it as pending. */
  pendingAt: number;
  approvedAt: number;
  /** The gateway has recorded the response: it is durable. */
  answeredAt: number;
  /** The approval arrived on the events topic; only when it is consumed. */
  onTopicAt: number;
  /** The tool was called. */
  toolAt: number;
  /** A gateway shows the outcome. */
  settledAt: number;
}

/** The environment of the cluster: a worker that requests, a person who approves, and the tool. */
export interface Load {
  /** One full cycle: requested over Kafka, approved over HTTP, executed, its outcome durable and visible. */
  readonly cycle: (connection: Connection, id: string) => Promise<Marks>;
  readonly connect: () => Promise<Connection>;
  /** Records when approvals arrive on the events topic, from now on. */
  readonly listenToTopic: () => Promise<() => Promise<void>>;
  /** How often the tool was called, to detect more than one run per cycle. */
  readonly toolCalls: () => number;
  readonly close: () => void;
}

/** The tool's own server; its address belongs into the tools file before the resolver starts. */
export interface ToolServer {
  readonly url: string;
  onCall: (callId: string) => void;
  readonly calls: () => number;
  readonly close: () => void;
}

/** A tool that does nothing but say when it was called. */
export async function openToolServer(): Promise<ToolServer> {
  let calls = 0;
  const tool: ToolServer & { url: string } = {
    url: '',
    onCall: () => undefined,
    calls: () => calls,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      calls += 1;
      tool.onCall(callIdIn(body));
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"done":true}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  tool.url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/`;
  return tool;
}

interface Ongoing {
  readonly marks: Marks;
  readonly pending: () => void;
  readonly settled: () => void;
}

/** Opens the load on a gateway; `token` may read everything and approve. */
export async function openLoad(options: {
  readonly gatewayPort: number;
  readonly token: string;
  readonly kafka: KafkaBus;
  readonly tool: ToolServer;
}): Promise<Load> {
  const { gatewayPort, token, kafka, tool } = options;
  const ongoing = new Map<string, Ongoing>();
  const authorization = `authorization: Bearer ${token}\r\n`;
  tool.onCall = (callId) => {
    const found = ongoing.get(callId);
    if (found !== undefined) found.marks.toolAt = performance.now();
  };
  const closeEvents = await followEvents(gatewayPort, token, (type, callId) => {
    const found = ongoing.get(callId);
    if (type === 'ApprovalRequested') found?.pending();
    else found?.settled();
  });
  return {
    connect: () => openConnection(gatewayPort),
    toolCalls: tool.calls,
    close: closeEvents,
    listenToTopic: () => listenToTopic(kafka, (callId) => ongoing.get(callId)?.marks),
    cycle: async (connection, id) => {
      const { callId, message } = createRequest(id);
      const marks = emptyMarks();
      const pending = Promise.withResolvers<undefined>();
      const settled = Promise.withResolvers<undefined>();
      ongoing.set(callId, {
        marks,
        pending: () => pending.resolve(undefined),
        settled: () => settled.resolve(undefined),
      });
      const published = kafka.publisher.publish(kafka.topics.names.requests, [message]).then(() => {
        marks.ackedAt = performance.now();
      });
      await Promise.all([published, pending.promise.then(() => (marks.pendingAt = performance.now()))]);
      marks.approvedAt = performance.now();
      const path = `/v1/approvals/apr_${callId.slice(3)}_1/responses`;
      const answer = await connection.send('POST', path, authorization, approval);
      if (answer.status !== 200) throw new Error(`POST ${path} answered ${String(answer.status)}: ${answer.body}`);
      marks.answeredAt = performance.now();
      await settled.promise;
      marks.settledAt = performance.now();
      ongoing.delete(callId);
      return marks;
    },
  };
}

const approval = JSON.stringify({ decision: { type: 'approve' }, reason: 'seen with ops' });

function emptyMarks(): Marks {
  const unknown = { ackedAt: NaN, pendingAt: NaN, approvedAt: NaN, answeredAt: NaN, onTopicAt: NaN, toolAt: NaN };
  return { sentAt: performance.now(), ...unknown, settledAt: NaN };
}

function callIdIn(text: string): string {
  return /"callId":"(tc_[a-z2-7]+)"/.exec(text)?.[1] ?? '';
}

/** One stream of the gateway's events for the whole load; reads confirm its events. */
async function followEvents(
  port: number,
  token: string,
  onEvent: (type: string, callId: string) => void,
): Promise<() => void> {
  const path = '/v1/events?after=now&types=ApprovalRequested,ExecutionSucceeded';
  const request = get({ port, host: '127.0.0.1', path, headers: { authorization: `Bearer ${token}` } });
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request.once('response', resolve).once('error', reject);
  });
  if (response.statusCode !== 200) throw new Error(`${path} answered ${String(response.statusCode)}`);
  request.on('error', () => undefined);
  let rest = '';
  response.setEncoding('utf8');
  response.on('data', (chunk: string) => {
    const frames = (rest + chunk).split('\n\n');
    rest = frames.pop() ?? '';
    for (const frame of frames) onEvent(/^event: ?(\w+)/m.exec(frame)?.[1] ?? '', callIdIn(frame));
  });
  return () => request.destroy();
}

async function listenToTopic(
  kafka: KafkaBus,
  marksOf: (callId: string) => Marks | undefined,
): Promise<() => Promise<void>> {
  const subscription = kafka.bus.subscribe({
    group: 'bench-listener',
    topics: [kafka.topics.names.events],
    types: ['ApprovalResponded'],
    onMessage: (message) => {
      const marks = marksOf(message.headers['ce_subject'] ?? '');
      if (marks !== undefined) marks.onTopicAt = performance.now();
    },
  });
  while (subscription.status().state !== 'running') await new Promise((resolve) => setTimeout(resolve, 20));
  return () => subscription.stop();
}
