import {
  ErrorCode,
  isJSONRPCNotification,
  isJSONRPCRequest,
  type JSONRPCMessage,
} from '@modelcontextprotocol/sdk/types.js';
import { createClient, createMayClaim } from '@countersign/worker-sdk';
import { createCardWatch } from './calls/card-watch.js';
import { createCatalog } from './server/catalog.js';
import { createClientRequests, GateEndedError } from './client/client-requests.js';
import { deliveredWhenSent, type Deliveries } from './client/deliveries.js';
import { createHandlers } from './client/request-handlers.js';
import { attempts, type GateOptions } from './calls/gate-options.js';
import { createGatedCalls, type GatedCallPorts } from './calls/gated-calls.js';
import { createKnownCalls } from './calls/known-calls.js';
import { asForeign } from './server/foreign-words.js';
import { createInnerRequests } from './server/inner-requests.js';
import { createSession } from './client/session.js';
import { createTaskOffer } from './tasks/task-offer.js';
import { createExtensionTasks } from './tasks/extension-tasks.js';
import { createTasks } from './tasks/tasks.js';
import { serverOfAnyVersion } from './stateless/any-version-server.js';
import {
  isBrokenPipe,
  isDroppedLine,
  isReply,
  responseOf,
  resemblesToolCall,
  type ClientWire,
  type Reply,
  type Wire,
} from './wire.js';

/** A gate between one client and one server. */
export interface Gate {
  /** Resolves when either side has ended and both are closed; with the failure, unless the client or `close` ended it. */
  readonly ended: Promise<GateFailure | undefined>;
  /** @param failure the error of the client, which its open requests get as their reason. */
  readonly close: (failure?: Error) => Promise<void>;
}

/** A gate whose client may be away for a time. */
export interface ConnectedGate extends Gate {
  /** The tool of a task runs. No request of the client need be open then. */
  readonly runsTask: () => boolean;
}

/** The side that failed. */
export interface GateFailure {
  readonly side: 'client' | 'server';
  /** Undefined when the server has ended by itself. */
  readonly error: Error | undefined;
}

/**
 * Starts both sides and returns the gate between them. Calls of gated tools pass the ledger, and the gate handles their
 * cancellations. All other messages pass as they are, in both directions, with these exceptions:
 * - messages about tasks, and the results of `initialize` and `tools/list` when the gate offers tasks;
 * - a reply of the server to no open request is dropped, as is a `tools/call` that is not a request;
 * - a reply whose id the server changed from a number to a string gets the number again;
 * - a message of the server has nothing that only the gate says: see `asForeign`.
 *
 * Rejects with the error of a side that cannot be started.
 *
 * @param deliveries tells whether replies reach the client. Default: a reply that is sent has arrived.
 */
export async function openGate(
  client: ClientWire,
  serverWire: Wire,
  options: GateOptions,
  deliveries: Deliveries = deliveredWhenSent,
): Promise<ConnectedGate> {
  const { roundOf = sessionsOnly } = client;
  const { server, ...ports } = createPorts(serverWire, options);
  const { requests, catalog } = ports;
  const gated = createGatedCalls(ports);
  const session = createSession(server, deliveries);
  const ended = Promise.withResolvers<GateFailure | undefined>();
  /** The last error of the server since its last message. */
  let failure: Error | undefined;
  let lost: GateFailure | undefined;

  const toClient = (message: JSONRPCMessage): void => {
    const related = session.relatedTo(message);
    const sent =
      related === undefined
        ? Promise.reject(new Error('the MCP client has no open stream'))
        : client.send(writable(message), related);
    sent.catch((error: unknown) => {
      // The server must not wait for a client that has not got its request.
      if (isJSONRPCRequest(message)) server.send(responseOf(message.id, notAnswered(error))).catch(() => undefined);
    });
  };
  const toServer = (message: JSONRPCMessage): void => {
    // The gate waits for the end of a task of an ungated tool. A client that can take no task gets the error of the server.
    const mayBeTask = isToolCall(message) && isJSONRPCRequest(message) && (roundOf(message.id)?.takesTasks ?? true);
    if (mayBeTask) server.acceptTask?.(message.id, () => undefined);
    server.send(tasks.fromClient(message)).catch((error: unknown) => {
      if (!isJSONRPCRequest(message) || !session.isOpen(message.id)) return;
      toClient(responseOf(message.id, notAnswered(error)));
      session.answered(message.id);
    });
  };
  const cards = createCardWatch(createClient(options), (elicitationId) => {
    toClient({ jsonrpc: '2.0', method: 'notifications/elicitation/complete', params: { elicitationId } });
  });
  const offer = createTaskOffer(options);
  const tasks = createTasks({ ...ports, toClient });
  const extension = createExtensionTasks({
    ...ports,
    toServer: (message) => void server.send(message).catch(() => undefined),
    hasOpenCall: session.hasOpenCall,
  });
  const answered = createClientRequests({ session, deliveries, toClient, toServer, watchCard: cards.watch, roundOf });
  const handlerOf = createHandlers({ ...ports, offer, tasks, extension, gated, roundOf, session });
  client.onmessage = (message) => {
    session.fromClient(message);
    offer.fromClient(message);
    const handler = isJSONRPCRequest(message) ? handlerOf(message) : undefined;
    if (isJSONRPCRequest(message) && handler !== undefined) {
      answered.answer(message, handler);
      return;
    }
    // A notification with this method expects no reply, so it is dropped.
    if (isToolCall(message)) return;
    if (!answered.cancel(message)) toServer(message);
  };
  server.onerror = (error) => {
    // A dropped line says nothing about the connection: it may be the rest of a message that was too large.
    if (!isDroppedLine(error) && !isBrokenPipe(error)) failure = error;
  };
  server.onmessage = (written) => {
    failure = undefined;
    const received = asForeign(written, options.toolApproval === true);
    const message = requests.take(received) ? undefined : session.expected(received);
    if (message === undefined) return;
    if (extension.ask(message)) return;
    const repliedTo = isReply(message) ? message.id : undefined;
    // The server has not got the client's tool calls, so it has nothing to reply to them.
    if (repliedTo !== undefined && answered.has(repliedTo)) return;
    // The gate judges by a list that is at least as new as that of the client.
    if (session.lists(message) || isListChanged(message)) catalog.forget();
    session.fromServer(message);
    const forClient = tasks.fromServer(offer.fromServer(message));
    if (forClient !== undefined) toClient(forClient);
    session.answered(repliedTo);
  };

  let closing: Promise<void> | undefined;
  const endOnce = (reason: Error): Promise<void> => (closing ??= end(reason));
  const end = async (reason: Error): Promise<void> => {
    requests.lose(reason.message);
    cards.close();
    // Every open request gets its last reply before the connection ends: over HTTP a client does not see the end.
    await Promise.all([answered.end(reason), tasks.close(), extension.close()]);
    gated.close();
    for (const id of session.openIds()) toClient(responseOf(id, notAnswered(reason)));
    await Promise.allSettled([server.close(), client.close()]);
    ended.resolve(lost);
  };
  client.onclose = () => void endOnce(new GateEndedError('the session ended'));
  server.onclose = () => {
    if (closing === undefined) lost = { side: 'server', error: failure };
    void endOnce(failure ?? new Error('the MCP server has ended'));
  };
  await server.start();
  await client.start();
  return {
    ended: ended.promise,
    runsTask: () => tasks.isRunning() || extension.isRunning(),
    close: (error) => {
      if (error !== undefined && closing === undefined) lost = { side: 'client', error };
      return endOnce(new GateEndedError(error?.message ?? 'the gate was stopped'));
    },
  };
}

/** What the handlers of calls need. */
function createPorts(wire: Wire, options: GateOptions): GatedCallPorts & { readonly server: Wire } {
  const server = serverOfAnyVersion(wire);
  const requests = createInnerRequests(server);
  const resolver = createClient({ ...options, token: options.resolverToken, attempts });
  const mayClaim = createMayClaim(resolver, { agent: createClient({ ...options, attempts }) });
  const known = createKnownCalls(options);
  return { server, options, requests, catalog: createCatalog(requests, options.listMs), mayClaim, known };
}

const sessionsOnly = (): undefined => undefined;

/** The reply to a request that the server does not answer. */
function notAnswered(error: unknown): Reply {
  return {
    error: { code: ErrorCode.ConnectionClosed, message: error instanceof Error ? error.message : String(error) },
  };
}

/** A reply that cannot be written would never arrive, such as one that is nested too deep for Node 24: the client gets an error in its place. */
function writable(message: JSONRPCMessage): JSONRPCMessage {
  if (!isReply(message) || message.id === undefined) return message;
  try {
    JSON.stringify(message);
    return message;
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error);
    const text = `the MCP server has replied, but its result cannot be written as JSON: ${cause}`;
    return responseOf(message.id, { error: { code: ErrorCode.InternalError, message: text } });
  }
}

function isListChanged(message: JSONRPCMessage): boolean {
  return isJSONRPCNotification(message) && message.method === 'notifications/tools/list_changed';
}

function isToolCall(message: JSONRPCMessage): boolean {
  return 'method' in message && resemblesToolCall(message.method);
}
