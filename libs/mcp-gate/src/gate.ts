import {
  ErrorCode,
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  type JSONRPCRequest,
} from '@modelcontextprotocol/sdk/types.js';
import type { ApprovalView } from '@countersign/contracts';
import { createClient } from '@countersign/worker-sdk';
import { createCardWatch } from './card-watch.js';
import { createCatalog } from './catalog.js';
import { createAnswerCall, type AnswerCall, type GateOptions } from './gated-calls.js';
import { createInnerRequests } from './inner-requests.js';
import { createSession } from './session.js';
import { createTaskOffer } from './tasks/task-offer.js';
import { createTasks } from './tasks/tasks.js';
import { objectOf, responseOf, type Wire } from './wire.js';

/** A gate between one client and one server. */
export interface Gate {
  /** Resolves when either side has ended and both are closed; with the error of a server that failed. */
  readonly ended: Promise<unknown>;
  readonly close: () => Promise<void>;
}

/**
 * Passes every message on as it is, in both directions, except tool calls: those pass the ledger. Capabilities, requests
 * of the server, progress and list changes are those of the two sides.
 */
export async function openGate(client: Wire, server: Wire, options: GateOptions): Promise<Gate> {
  const requests = createInnerRequests(server);
  const catalog = createCatalog(requests);
  const answerCall = createAnswerCall(options, catalog, requests);
  const session = createSession(server);
  const open = new Map<string | number, AbortController>();
  const answering = new Set<Promise<void>>();
  const ended = Promise.withResolvers<Error | undefined>();
  /** The last error of the server since its last message, and the one with which it ended. */
  let failure: Error | undefined;
  let lost: Error | undefined;

  const toClient = (message: JSONRPCMessage): void => {
    client.send(message, session.relatedTo(message)).catch(() => undefined);
  };
  const cards = createCardWatch(createClient(options), (elicitationId) => {
    toClient({ jsonrpc: '2.0', method: 'notifications/elicitation/complete', params: { elicitationId } });
  });
  const offer = createTaskOffer(options.gate);
  const tasks = createTasks({ options, catalog, requests, toClient });
  /** The handler of a request that the gate answers itself. */
  const handlerOf = ({ method, params = {} }: JSONRPCRequest): AnswerCall | undefined => {
    if (method === 'tools/call') return offer.isMade() && 'task' in params ? tasks.create : answerCall;
    if (!offer.isMade() || !method.startsWith('tasks/')) return undefined;
    return tasks.handlerOf(method, params) ?? (offer.serverHasTasks() ? undefined : noTask);
  };
  const answer = async ({ id, params = {} }: JSONRPCRequest, handler: AnswerCall): Promise<void> => {
    const cancelled = new AbortController();
    open.set(id, cancelled);
    let card: ApprovalView | undefined;
    const reply = await handler({
      params,
      signal: cancelled.signal,
      opensUrls: session.opensUrls(),
      labels: session.labels(),
      onWaiting: createProgress(params, toClient),
      onCard: (approval) => {
        card = approval;
      },
    });
    open.delete(id);
    if (cancelled.signal.reason !== byClient) toClient(responseOf(id, reply));
    session.answered(id);
    if (card !== undefined) cards.watch(card);
  };
  client.onmessage = (message) => {
    session.fromClient(message);
    offer.fromClient(message);
    const handler = isJSONRPCRequest(message) ? handlerOf(message) : undefined;
    if (isJSONRPCRequest(message) && handler !== undefined) {
      keepUntilDone(answering, answer(message, handler));
      return;
    }
    // A notification with this method expects no reply, so it is dropped.
    if (isToolCall(message)) return;
    const cancelled = open.get(cancelledBy(message) ?? '');
    if (cancelled === undefined) server.send(tasks.fromClient(message)).catch(() => undefined);
    else cancelled.abort(byClient);
  };
  server.onerror = (error) => {
    // A line that is not JSON says nothing about the connection: it may be the rest of a message that was too large.
    if (!(error instanceof SyntaxError)) failure = error;
  };
  server.onmessage = (message) => {
    failure = undefined;
    if (requests.take(message)) return;
    const isReply = isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message);
    // The server has not got the client's tool calls, so it has nothing to reply to them.
    if (isReply && message.id !== undefined && open.has(message.id)) return;
    if (isJSONRPCNotification(message) && message.method === 'notifications/tools/list_changed') catalog.forget();
    session.fromServer(message);
    const forClient = tasks.fromServer(offer.fromServer(message));
    if (forClient !== undefined) toClient(forClient);
    if (isReply) session.answered(message.id);
  };

  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => (closing ??= end());
  const end = async (): Promise<void> => {
    requests.lose(lost?.message ?? 'the MCP server has ended');
    cards.close();
    for (const cancelled of open.values()) cancelled.abort(new Error('the MCP server has ended'));
    await tasks.close();
    // Every open call gets its last reply before the connection ends.
    await Promise.all(answering);
    await Promise.allSettled([server.close(), client.close()]);
    ended.resolve(lost);
  };
  client.onclose = () => void close();
  server.onclose = () => {
    if (closing === undefined) lost = failure;
    void close();
  };
  await server.start();
  await client.start();
  return { ended: ended.promise, close };
}

/** The reason of a cancellation by the client, which expects no reply. */
const byClient = new Error('the client has cancelled the request');

/** The reply about a task that neither the gate nor the server has. */
const noTask: AnswerCall = async () => ({ error: { code: ErrorCode.InvalidParams, message: 'Task not found' } });

function keepUntilDone(set: Set<Promise<void>>, work: Promise<void>): void {
  const done = work.finally(() => set.delete(done));
  set.add(done);
}

function isToolCall(message: JSONRPCMessage): boolean {
  return 'method' in message && message.method === 'tools/call';
}

function cancelledBy(message: JSONRPCMessage): string | number | undefined {
  if (!isJSONRPCNotification(message) || message.method !== 'notifications/cancelled') return undefined;
  const { requestId } = objectOf(message.params);
  return typeof requestId === 'string' || typeof requestId === 'number' ? requestId : undefined;
}

/** Tells a client that asked for progress that the call still waits.  */
function createProgress(
  params: Readonly<Record<string, unknown>>,
  send: (message: JSONRPCMessage) => void,
): (approvalId: string) => void {
  const { progressToken } = objectOf(params['_meta']);
  let ticks = 0;
  return (approvalId) => {
    if (typeof progressToken !== 'string' && typeof progressToken !== 'number') return;
    // Small steps: progress must grow, and the tool's own begins when a person has approved.
    const progress = (ticks += 1) / 1_000_000;
    const message = `waiting for a person: approval ${approvalId}`;
    send({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress, message } });
  };
}
