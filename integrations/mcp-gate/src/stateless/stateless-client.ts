import { randomUUID } from 'node:crypto';
import {
  ErrorCode,
  isJSONRPCRequest,
  type JSONRPCMessage,
  type JSONRPCRequest,
  type RequestId,
} from '@modelcontextprotocol/sdk/types.js';
import { objectOf, type Reply } from '../wire.js';
import { createBeginning } from './beginning.js';
import type { Exchange, OpenRequest } from './exchange.js';
import { createLogLevels } from './log-levels.js';
import { createOpenRequests, roundOf } from './open-requests.js';
import { paramProblem } from './param-headers.js';
import { factsOf, failed, type RequestFacts } from './request-facts.js';
import type { RequestRound } from './request-round.js';
import { createRounds, roundPrefix } from './rounds.js';
import { createServerWords } from './server-words.js';
import { discovered, replyIn, statelessReply, type ServerFacts } from './stateless-results.js';
import { createSubscriptions } from './subscriptions.js';
import { createToolHeaders } from './tool-headers.js';

type Members = Readonly<Record<string, unknown>>;

/**
 * The stateless clients of one connection to a server. Towards the server they are one client that has made a session:
 * `initialize` is sent with what the first request says about its client.
 */
export interface StatelessClient {
  readonly take: (request: JSONRPCRequest, exchange: Exchange) => void;
  /** The client has cancelled a request, or left. */
  readonly cancel: (exchange: Exchange) => void;
  /** Takes a message for the client. */
  readonly fromServer: (message: JSONRPCMessage) => void;
  /** Returns whether a message is the reply to a request that these clients have made. */
  readonly owns: (message: JSONRPCMessage) => boolean;
  /** Returns how the client of a request waits; undefined for a request that is not of these clients. */
  readonly roundOf: (innerId: RequestId) => RequestRound | undefined;
  readonly deliveryOf: (innerId: RequestId) => Promise<boolean> | undefined;
  readonly end: () => void;
}

/** How the requests of stateless clients reach their server. */
export interface StatelessPorts {
  readonly toServer: (message: JSONRPCMessage) => void;
  /** All requests are of one program, so a question of the server belongs to the latest of them. */
  readonly isOneClient: boolean;
}

export function createStatelessClient({ toServer, isOneClient }: StatelessPorts): StatelessClient {
  // A client that could guess these ids could take the place of a request of another one.
  const prefix = `stateless-${randomUUID()}-`;
  let count = 0;
  const newId = (): string => `${prefix}${String((count += 1))}`;
  const own = new Map<RequestId, (reply: Reply) => void>();
  const left = new WeakSet<Exchange>();
  let server: ServerFacts = { capabilities: {}, serverInfo: undefined, instructions: undefined };

  const request = (method: string, params: Members): Promise<Reply> => {
    const { promise, resolve } = Promise.withResolvers<Reply>();
    const id = newId();
    own.set(id, resolve);
    toServer({ jsonrpc: '2.0', id, method, params });
    return promise;
  };
  const open = createOpenRequests(() => server, toServer);
  const leave = (one: OpenRequest): void => {
    open.lose(one);
    rounds.abandon(one);
    toServer({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: one.innerId } });
  };
  const rounds = createRounds({ finish: open.finish, lost: open.abandon, left: leave });
  const toolHeaders = createToolHeaders(request);
  const subscriptions = createSubscriptions((method, params) => void request(method, params));
  const beginning = createBeginning(request, toServer);
  const levels = createLogLevels((level) => void request('logging/setLevel', { level }));
  const words = createServerWords({ toServer, isOneClient, open, rounds, subscriptions, toolHeaders, levels });

  const forward = (facts: RequestFacts, exchange: Exchange): void => {
    const innerId = newId();
    const params = passedParams(facts);
    open.begin(innerId, facts, exchange);
    if ('logging' in server.capabilities) levels.want(facts.logLevel);
    // Tokens of several clients could be equal, and the gate finds the request of a question by its token.
    const meta = { ...objectOf(params['_meta']), progressToken: innerId };
    toServer({ jsonrpc: '2.0', id: innerId, method: facts.method, params: { ...params, _meta: meta } });
  };
  const problemOfCall = async ({ method, params }: RequestFacts, { headers }: Exchange): Promise<Reply | undefined> => {
    if (method !== 'tools/call' || headers === undefined) return undefined;
    try {
      return paramProblem(await toolHeaders.of(params['name']), params['arguments'], headers);
    } catch (error) {
      return failed(ErrorCode.InternalError, `The tool did not run: ${error instanceof Error ? error.message : ''}`);
    }
  };
  const answer = async (facts: RequestFacts, exchange: Exchange): Promise<void> => {
    const { method, params } = facts;
    const isRound = String(params['requestState']).startsWith(roundPrefix);
    if (method === 'server/discover') exchange.reply(statelessReply(method, discovered(server), server));
    else if (method === 'subscriptions/listen') subscriptions.open(facts, exchange, server.capabilities);
    else {
      const problem = isRound ? rounds.resume(facts, exchange) : await problemOfCall(facts, exchange);
      if (problem !== undefined) exchange.reply(problem);
      else if (!isRound && !left.has(exchange)) forward(facts, exchange);
    }
  };
  const serve = async (facts: RequestFacts, exchange: Exchange): Promise<void> => {
    const begun = await beginning.by(facts);
    if (left.has(exchange)) return;
    if ('error' in begun) {
      exchange.reply(statelessReply(facts.method, begun, server));
      return;
    }
    server = begun;
    await answer(facts, exchange);
  };
  const takeReply = (id: RequestId, reply: Reply): void => {
    own.get(id)?.(reply);
    own.delete(id);
    const one = open.get(id);
    if (one !== undefined) open.finish(one, reply);
  };

  return {
    take: (message, exchange) => {
      const facts = factsOf(message);
      if ('error' in facts) exchange.reply(facts);
      else void serve(facts, exchange);
    },
    cancel: (exchange) => {
      left.add(exchange);
      subscriptions.close(exchange);
      const one = open.all().find((some) => some.exchange === exchange);
      if (one !== undefined) leave(one);
    },
    fromServer: (message) => {
      const reply = replyIn(message);
      const id = 'id' in message ? message.id : undefined;
      if (isJSONRPCRequest(message)) words.ask(message);
      else if (reply === undefined || id === undefined) words.tell(message);
      else takeReply(id, reply);
    },
    owns: (message) => !('method' in message) && String(message.id).startsWith(prefix),
    roundOf: (innerId) => {
      const one = open.get(innerId);
      return one && roundOf(one);
    },
    deliveryOf: (innerId) => open.get(innerId)?.arrived.promise,
    end: subscriptions.end,
  };
}

/** Of a call nothing else reaches the server, also when the tool is ungated. */
function passedParams({ method, params }: RequestFacts): Members {
  const { requestState: _, inputResponses: __, ...rest } = params;
  if (method === 'tasks/update') return params;
  if (method !== 'tools/call') return rest;
  const { name, arguments: args, _meta: meta } = rest;
  const callId = objectOf(meta)['claudecode/toolUseId'];
  return {
    name,
    ...(args === undefined ? {} : { arguments: args }),
    ...(callId === undefined ? {} : { _meta: { 'claudecode/toolUseId': callId } }),
  };
}
