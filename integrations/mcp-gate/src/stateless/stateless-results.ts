import { ErrorCode, isJSONRPCErrorResponse, type JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { isObject, objectOf, type Reply } from '../wire.js';
import {
  cacheableMethods,
  extensionNames,
  isReservedError,
  metaNames,
  passedExtensions,
  statelessErrors,
  statelessVersion,
} from './protocol.js';
import { failed } from './request-facts.js';

type Members = Readonly<Record<string, unknown>>;

/** The result of `initialize`: what a stateless client learns by `server/discover`. */
export interface ServerFacts {
  readonly capabilities: Members;
  readonly serverInfo: unknown;
  readonly instructions: unknown;
}

/** Returns the result of `server/discover`. */
export function discovered({ capabilities, instructions }: ServerFacts): Reply {
  const { tasks: _tasks, experimental, extensions, ...known } = capabilities;
  const named = [...passedExtensions, ...Object.values<string>(extensionNames)];
  const passed = Object.entries(objectOf(extensions)).filter(([name]) => named.includes(name));
  return {
    result: {
      supportedVersions: [statelessVersion],
      capabilities: {
        ...known,
        ...(isObject(experimental) ? { experimental } : {}),
        ...(passed.length === 0 ? {} : { extensions: Object.fromEntries(passed) }),
      },
      ...(typeof instructions === 'string' ? { instructions } : {}),
    },
  };
}

/** The members of a result that needs more rounds. The gate alone gives one: those of the server are taken out before. */
const roundMembers = ['resultType', 'inputRequests', 'requestState'];

/** Returns a result of the server without what says that it is not complete. */
export function completed(result: Members): Record<string, unknown> {
  return Object.fromEntries(Object.entries(result).filter(([name]) => !roundMembers.includes(name)));
}

/** The types of a result that is not complete. */
const ownTypes: readonly unknown[] = ['input_required', 'task'];

/** Returns the reply to a request of this method as a stateless client reads it. */
export function statelessReply(method: string, reply: Reply, { serverInfo }: Pick<ServerFacts, 'serverInfo'>): Reply {
  if ('error' in reply) return { error: statelessError(reply.error) };
  const meta = {
    ...objectOf(reply.result['_meta']),
    ...(isObject(serverInfo) ? { [metaNames.serverInfo]: serverInfo } : {}),
  };
  if (ownTypes.includes(reply.result['resultType'])) return { result: { ...reply.result, _meta: meta } };
  const result = { ...reply.result, resultType: 'complete', _meta: meta };
  if (method === 'tools/call') return { result: { ...result, content: contentOf(reply.result) } };
  if (method === 'tools/list')
    return { result: { ...result, ...cachedOf(reply.result), tools: toolsOf(reply.result) } };
  return { result: cacheableMethods.includes(method) ? { ...result, ...cachedOf(reply.result) } : result };
}

function contentOf({ content }: Members): readonly unknown[] {
  return Array.isArray(content) ? content : [];
}

/** The support of tasks by tool is of version 2025-11-25. */
function toolsOf({ tools }: Members): readonly unknown[] {
  if (!Array.isArray(tools)) return [];
  return tools.map((tool: unknown) => {
    const { execution: _execution, ...rest } = objectOf(tool);
    return rest;
  });
}

/** A server that says nothing of the kind changes its lists at any time, and for this client alone. */
function cachedOf({ ttlMs, cacheScope }: Members): Members {
  const isTime = typeof ttlMs === 'number' && Number.isInteger(ttlMs) && ttlMs >= 0;
  return { ttlMs: isTime ? ttlMs : 0, cacheScope: cacheScope === 'public' ? 'public' : 'private' };
}

const resourceNotFound = -32_002;

/**
 * The codes that earlier versions had, and those that only the gate gives, do not reach the client. The attack: the server
 * replies that the version is not supported, and the client leaves the version in which the gate has begun.
 */
function statelessError(
  error: Extract<Reply, { error: unknown }>['error'],
): Extract<Reply, { error: unknown }>['error'] {
  if (error.code === resourceNotFound) return { ...error, code: ErrorCode.InvalidParams };
  if (!isReservedError(error.code) || error.code === statelessErrors.missingCapability) return error;
  return failed(
    ErrorCode.InternalError,
    `The MCP server replied with the error ${String(error.code)}: ${error.message}`,
  ).error;
}

/** Returns the end of a request that a message carries. */
export function replyIn(message: JSONRPCMessage): Reply | undefined {
  if ('result' in message) return { result: message.result };
  return isJSONRPCErrorResponse(message) ? { error: message.error } : undefined;
}
