import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import {
  isJSONRPCRequest,
  LATEST_PROTOCOL_VERSION,
  SUPPORTED_PROTOCOL_VERSIONS,
  type JSONRPCMessage,
  type JSONRPCRequest,
} from '@modelcontextprotocol/sdk/types.js';
import { NotSentError } from '../server/inner-requests.js';
import { objectOf, responseOf, type Reply, type Wire } from '../wire.js';
import { passedCapabilities, withPassedExtensions } from './beginning.js';
import { metaNames, statelessVersion } from './protocol.js';
import { replyIn } from './stateless-results.js';
import { createStatelessServer, type StatelessServer } from './stateless-server.js';

type Members = Readonly<Record<string, unknown>>;

/** A server that does not know the request may say nothing. */
const discoveryMsMax = 10_000;

/**
 * Returns a server of any version that the gate speaks, as one that makes sessions. A process gets `initialize` first: one
 * that knows no sessions refuses it, and only then gets `server/discover`. So a server that ends at any other first request
 * works. A server over HTTP cannot end so: for a stateless client it gets `server/discover` first.
 */
export function serverOfAnyVersion(inner: Wire): Wire {
  let stateless: StatelessServer | undefined;
  let session: Session | undefined;
  const { ask, take } = createQuestions(inner);
  /** Messages of the client wait here until the version is known. */
  let agreeing: Promise<void> | undefined;

  const toClient = (message: JSONRPCMessage): void => {
    wire.onmessage?.(message);
  };
  const find = (params: Members): Promise<Members | undefined> => discover(params).catch(() => undefined);
  /** Returns the reply to `initialize`, or the facts about a server of stateless requests. */
  const begin = async (initialize: JSONRPCRequest, discoversFirst: boolean): Promise<Begun> => {
    const params = objectOf(initialize.params);
    if (isSession(session, params)) return { reply: session.reply };
    const first = discoversFirst ? await find(params) : undefined;
    if (first !== undefined) return { found: first };
    const [begun] = await Promise.allSettled([ask(initialize)]);
    const found = !discoversFirst && isRefusal(begun) ? await find(params) : undefined;
    if (found !== undefined) return { found };
    if (begun.status === 'rejected') throw begun.reason;
    return { reply: begun.value };
  };
  const agree = async (request: JSONRPCRequest): Promise<void> => {
    const params = objectOf(request.params);
    const version = String(params['protocolVersion']);
    const isForStateless = version === statelessVersion;
    const protocolVersion = isForStateless ? LATEST_PROTOCOL_VERSION : version;
    const initialize = { ...request, params: { ...params, protocolVersion } };
    const begun = await begin(initialize, isForStateless && inner.takesAnyRequest === true);
    if ('reply' in begun) {
      stateless?.close();
      stateless = undefined;
      session = { params: initialize.params, reply: begun.reply };
      toClient(responseOf(request.id, begun.reply));
      return;
    }
    const { found } = begun;
    const capabilities = objectOf(found['capabilities']);
    const agreement = { envelope: envelopeOf(params), isForStateless, capabilities };
    if (stateless === undefined) stateless = createStatelessServer({ inner, toClient }, agreement);
    else stateless.agree(agreement);
    const isSpoken = SUPPORTED_PROTOCOL_VERSIONS.includes(version);
    toClient(responseOf(request.id, { result: sessionOf(found, isSpoken ? version : LATEST_PROTOCOL_VERSION) }));
  };
  /** Returns the facts about a server that speaks the version of stateless requests. */
  const discover = async (params: Members): Promise<Members | undefined> => {
    const request = { method: 'server/discover', params: { _meta: envelopeOf(params) } };
    const reply = await ask({ jsonrpc: '2.0', id: 0, ...request }, discoveryMsMax);
    if ('error' in reply) return undefined;
    const { supportedVersions } = reply.result;
    return Array.isArray(supportedVersions) && supportedVersions.includes(statelessVersion) ? reply.result : undefined;
  };
  const wire: Wire = {
    start: async () => {
      inner.onmessage = (message) => {
        if (take(message)) return;
        if (stateless === undefined) toClient(message);
        else stateless.fromServer(message);
      };
      inner.onerror = (error) => wire.onerror?.(error);
      inner.onclose = () => {
        stateless?.close();
        wire.onclose?.();
      };
      await inner.start();
    },
    send: async (message, options) => {
      if (isJSONRPCRequest(message) && message.method === 'initialize') {
        const agreement = (agreeing ?? Promise.resolve()).then(() => agree(message));
        agreeing = agreement.catch(() => undefined);
        await agreement;
        return;
      }
      if (agreeing !== undefined) await agreeing;
      if (stateless === undefined) await inner.send(message, options);
      else await stateless.send(message);
    },
    makesTasks: () => stateless?.makesTasks() === true,
    acceptTask: (requestId, onTask) => stateless?.acceptTask(requestId, onTask),
    setProtocolVersion: (version) => {
      // Each stateless request names its version.
      if (stateless === undefined) inner.setProtocolVersion?.(version);
    },
    close: async () => {
      stateless?.close();
      await inner.close();
    },
  };
  return wire;
}

/** The requests of the gate itself, before the version of the server is known. */
interface Questions {
  /** Rejects when the request cannot be sent, and when the server does not respond in time. */
  readonly ask: (request: JSONRPCRequest, limitMs?: number) => Promise<Reply>;
  /** Takes the reply to one of them; returns whether it was one. */
  readonly take: (message: JSONRPCMessage) => boolean;
}

function createQuestions(inner: Pick<Wire, 'send'>): Questions {
  const replies = new Map<string, (reply: Reply) => void>();
  const ask: Questions['ask'] = async (request, limitMs) => {
    const id = `countersign-${randomUUID()}`;
    const { promise, resolve, reject } = Promise.withResolvers<Reply>();
    replies.set(id, resolve);
    const overdue = (): void => {
      reject(new Error('the MCP server does not respond'));
    };
    const timer = limitMs === undefined ? undefined : setTimeout(overdue, limitMs).unref();
    try {
      inner.send({ ...request, id }).catch(reject);
      return await promise;
    } finally {
      clearTimeout(timer);
      replies.delete(id);
    }
  };
  const take: Questions['take'] = (message) => {
    const reply = replyIn(message);
    const resolve = reply !== undefined && 'id' in message ? replies.get(String(message.id)) : undefined;
    if (reply === undefined || resolve === undefined) return false;
    resolve(reply);
    return true;
  };
  return { ask, take };
}

interface Session {
  readonly params: Members;
  readonly reply: Reply;
}

/** A client that asks for the version first, and gives up, begins the session that the gate has begun for the question. */
function isSession(session: Session | undefined, { protocolVersion, capabilities }: Members): session is Session {
  if (session === undefined || 'error' in session.reply) return false;
  const before = passedCapabilities(objectOf(session.params['capabilities']));
  const isSame = isDeepStrictEqual(before, passedCapabilities(objectOf(capabilities)));
  return isSame && session.reply.result['protocolVersion'] === protocolVersion;
}

/** What a server has said first. */
type Begun = { readonly reply: Reply } | { readonly found: Members };

/** The server has refused to begin a session. */
function isRefusal(begun: PromiseSettledResult<Reply>): boolean {
  return begun.status === 'fulfilled' ? 'error' in begun.value : !(begun.reason instanceof NotSentError);
}

/** What each request to a stateless server says about the client. */
function envelopeOf({ capabilities, clientInfo }: Members): Members {
  return {
    [metaNames.version]: statelessVersion,
    [metaNames.clientInfo]: clientInfo,
    [metaNames.capabilities]: passedCapabilities(objectOf(capabilities)),
  };
}

/** The result of `initialize` that a server without sessions would give. */
function sessionOf(found: Members, protocolVersion: string): Record<string, unknown> {
  const { capabilities, instructions, _meta: meta } = found;
  const serverInfo = objectOf(meta)[metaNames.serverInfo] ?? { name: 'unknown', version: '0' };
  return {
    protocolVersion,
    capabilities: withPassedExtensions(objectOf(capabilities)),
    serverInfo,
    ...(instructions === undefined ? {} : { instructions }),
  };
}
