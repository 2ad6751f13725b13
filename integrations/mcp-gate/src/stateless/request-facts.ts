import { ErrorCode, type JSONRPCMessage, type JSONRPCRequest } from '@modelcontextprotocol/sdk/types.js';
import { isObject, objectOf, type Reply } from '../wire.js';
import {
  extensionNames,
  isStatelessMethod,
  isTaskMethod,
  logLevels,
  metaNames,
  namedBy,
  statelessErrors,
  statelessVersion,
} from './protocol.js';

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

type Failure = Extract<Reply, { error: unknown }>;

/** Returns whether a message names its version, as the messages of stateless clients do. */
export function namesVersion(message: JSONRPCMessage): boolean {
  return 'method' in message && metaNames.version in objectOf(message.params?.['_meta']);
}

/** Returns the facts of a request, or the error for one that this version does not have. */
export function factsOf({ method, params = {} }: JSONRPCRequest): RequestFacts | Failure {
  const meta = objectOf(params['_meta']);
  const requested = meta[metaNames.version];
  if (typeof requested !== 'string') return invalid(`_meta["${metaNames.version}"] must be a text`);
  if (requested !== statelessVersion) {
    const data = { supported: [statelessVersion], requested };
    return failed(statelessErrors.unsupportedVersion, `Unsupported protocol version: ${requested}`, data);
  }
  const problem = problemOfMeta(meta);
  if (problem !== undefined) return invalid(problem);
  const refused = refusalOf(method, params, objectOf(meta[metaNames.capabilities]));
  if (refused !== undefined) return refused;
  const { [metaNames.clientInfo]: clientInfo, [metaNames.logLevel]: logLevel } = meta;
  return {
    method,
    params: withoutEnvelope(params),
    capabilities: objectOf(meta[metaNames.capabilities]),
    clientInfo: isObject(clientInfo) ? clientInfo : undefined,
    logLevel: typeof logLevel === 'string' ? logLevel : undefined,
  };
}

/** Returns whether capabilities declare the extension for tasks. */
export function takesTasks({ extensions }: Members): boolean {
  return isObject(objectOf(extensions)[extensionNames.tasks]);
}

function refusalOf(method: string, params: Members, capabilities: Members): Failure | undefined {
  if (!isStatelessMethod(method) && !isTaskMethod(method))
    return failed(ErrorCode.MethodNotFound, `Method not found: ${method}`);
  if (needsTasks(method, params) && !takesTasks(capabilities)) return withoutTasks();
  const misfit = problemOfParams(method, params);
  return misfit === undefined ? undefined : invalid(misfit);
}

function needsTasks(method: string, { notifications }: Members): boolean {
  return isTaskMethod(method) || (method === 'subscriptions/listen' && 'taskIds' in objectOf(notifications));
}

function withoutTasks(): Failure {
  const data = { requiredCapabilities: { extensions: { [extensionNames.tasks]: {} } } };
  const message = `The request must declare the extension ${extensionNames.tasks}`;
  return failed(statelessErrors.missingCapability, message, data);
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

function problemOfParams(method: string, params: Members): string | undefined {
  const named = namedBy[method];
  if (named !== undefined && typeof params[named] !== 'string') return `params.${named} must be a text`;
  const { arguments: args, requestState } = params;
  const { inputResponses = method === 'tasks/update' ? undefined : {} } = params;
  if (args !== undefined && !isObject(args)) return 'params.arguments must be an object';
  if (!isObject(inputResponses)) return 'params.inputResponses must be an object';
  if (requestState !== undefined && typeof requestState !== 'string') return 'params.requestState must be a text';
  return undefined;
}

/** The server behind the gate gets its own members: those of the client are for the gate. */
export function withoutEnvelope(params: Members): Members {
  const { _meta: meta, ...rest } = params;
  if (!isObject(meta)) return rest;
  const own: readonly string[] = Object.values(metaNames);
  return { ...rest, _meta: Object.fromEntries(Object.entries(meta).filter(([name]) => !own.includes(name))) };
}

/** An error reply. */
export function failed(code: number, message: string, data?: Members): Failure {
  return { error: { code, message, ...(data === undefined ? {} : { data }) } };
}

function invalid(problem: string): Failure {
  return failed(ErrorCode.InvalidParams, `Invalid params: ${problem}`);
}
