import { ErrorCode, type JSONRPCMessage, type JSONRPCRequest } from '@modelcontextprotocol/sdk/types.js';
import { isObject, objectOf, type Reply } from '../wire.js';
import { isStatelessMethod, logLevels, metaNames, statelessErrors, statelessVersion } from './protocol.js';

type Members = Readonly<Record<string, unknown>>;

/** A stateless request, and what it says about its client. */
export interface RequestFacts {
  readonly method: string;
  /** The parameters without the members of `_meta` that are about the request itself. */
  readonly params: Members;
  readonly capabilities: Members;
  readonly clientInfo: Members | undefined;
  readonly logLevel: string | undefined;
}

/** Returns whether a message names its version, as the messages of stateless clients do. */
export function namesVersion(message: JSONRPCMessage): boolean {
  return 'method' in message && metaNames.version in objectOf(message.params?.['_meta']);
}

/** Returns the facts of a request, or the error for one that this version does not have. */
export function factsOf({ method, params = {} }: JSONRPCRequest): RequestFacts | Extract<Reply, { error: unknown }> {
  const meta = objectOf(params['_meta']);
  const requested = meta[metaNames.version];
  if (typeof requested !== 'string') return invalid(`_meta["${metaNames.version}"] must be a text`);
  if (requested !== statelessVersion) {
    const data = { supported: [statelessVersion], requested };
    return failed(statelessErrors.unsupportedVersion, `Unsupported protocol version: ${requested}`, data);
  }
  const problem = problemOfMeta(meta);
  if (problem !== undefined) return invalid(problem);
  if (!isStatelessMethod(method)) return failed(ErrorCode.MethodNotFound, `Method not found: ${method}`);
  const misfit = problemOfParams(method, params);
  if (misfit !== undefined) return invalid(misfit);
  const { [metaNames.clientInfo]: clientInfo, [metaNames.logLevel]: logLevel } = meta;
  return {
    method,
    params: withoutEnvelope(params),
    capabilities: objectOf(meta[metaNames.capabilities]),
    clientInfo: isObject(clientInfo) ? clientInfo : undefined,
    logLevel: typeof logLevel === 'string' ? logLevel : undefined,
  };
}

function problemOfMeta(meta: Members): string | undefined {
  const { [metaNames.capabilities]: capabilities, [metaNames.clientInfo]: info, [metaNames.logLevel]: level } = meta;
  if (!isObject(capabilities)) return `_meta["${metaNames.capabilities}"] must be an object`;
  if (
    info !== undefined &&
    (typeof objectOf(info)['name'] !== 'string' || typeof objectOf(info)['version'] !== 'string')
  )
    return `_meta["${metaNames.clientInfo}"] must have a name and a version`;
  if (level !== undefined && !(logLevels as readonly unknown[]).includes(level))
    return `_meta["${metaNames.logLevel}"] is no level`;
  return undefined;
}

const namedBy: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
};

function problemOfParams(method: string, params: Members): string | undefined {
  const named = namedBy[method];
  if (named !== undefined && typeof params[named] !== 'string') return `params.${named} must be a text`;
  const { arguments: args, inputResponses, requestState } = params;
  if (args !== undefined && !isObject(args)) return 'params.arguments must be an object';
  if (inputResponses !== undefined && !isObject(inputResponses)) return 'params.inputResponses must be an object';
  if (requestState !== undefined && typeof requestState !== 'string') return 'params.requestState must be a text';
  return undefined;
}

/** The server behind the gate gets its own members: those of the client are for the gate. */
function withoutEnvelope(params: Members): Members {
  const { _meta: meta, ...rest } = params;
  if (!isObject(meta)) return rest;
  const own: readonly string[] = Object.values(metaNames);
  return { ...rest, _meta: Object.fromEntries(Object.entries(meta).filter(([name]) => !own.includes(name))) };
}

/** An error reply. */
export function failed(code: number, message: string, data?: Members): Extract<Reply, { error: unknown }> {
  return { error: { code, message, ...(data === undefined ? {} : { data }) } };
}

function invalid(problem: string): Extract<Reply, { error: unknown }> {
  return failed(ErrorCode.InvalidParams, `Invalid params: ${problem}`);
}
