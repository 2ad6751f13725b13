/** The version of MCP from which on requests are stateless: each one names its version and what its client can do. */
export const statelessVersion = '2026-07-28';

/** The members of `_meta` in which a stateless request and its result carry what `initialize` agreed on before. */
export const metaNames = {
  version: 'io.modelcontextprotocol/protocolVersion',
  clientInfo: 'io.modelcontextprotocol/clientInfo',
  capabilities: 'io.modelcontextprotocol/clientCapabilities',
  logLevel: 'io.modelcontextprotocol/logLevel',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
  subscriptionId: 'io.modelcontextprotocol/subscriptionId',
} as const;

/** The error codes of this version. */
export const statelessErrors = {
  headerMismatch: -32_020,
  missingCapability: -32_021,
  unsupportedVersion: -32_022,
} as const;

/** Returns whether an error code is reserved for the errors of the protocol itself. */
export function isReservedError(code: number): boolean {
  return code <= -32_020 && code >= -32_099;
}

/** The requests of the extension for skills. They read files, and call no tool. */
const skillMethods = ['skills/list', 'skills/get', 'resources/directory/read'];

/** The requests of this version that the gate passes on. It answers `server/discover` and `subscriptions/listen` itself. */
const passedMethods = [
  ...['tools/list', 'tools/call', 'prompts/list', 'prompts/get'],
  ...['resources/list', 'resources/templates/list', 'resources/read', 'completion/complete'],
  ...skillMethods,
];

/** Returns whether a request of this method exists in this version. */
export function isStatelessMethod(method: string): boolean {
  return method === 'server/discover' || method === 'subscriptions/listen' || passedMethods.includes(method);
}

/** The extensions that the gate itself speaks. */
export const extensionNames = {
  tasks: 'io.modelcontextprotocol/tasks',
  toolApproval: 'io.modelcontextprotocol/tool-approval',
} as const;

/** The members of `_meta` of the draft extension for approvals, and of the drafts that it uses. */
export const approvalMeta = {
  denial: 'io.modelcontextprotocol/authorization',
  disposition: 'io.modelcontextprotocol/tool-approval-disposition',
  immediate: 'io.modelcontextprotocol/model-immediate-response',
} as const;

/** The requests of the extension for tasks. */
const taskMethods = ['tasks/get', 'tasks/update', 'tasks/cancel'];

/** Returns whether a request is one of the extension for tasks. */
export function isTaskMethod(method: string): boolean {
  return taskMethods.includes(method);
}

/** The member of the parameters that names what a request is about. The header `Mcp-Name` repeats it. */
export const namedBy: Readonly<Record<string, string>> = {
  ...{ 'tools/call': 'name', 'prompts/get': 'name', 'resources/read': 'uri' },
  ...Object.fromEntries(taskMethods.map((method) => [method, 'taskId'])),
};

/** The results that tell how long the client may keep them. */
export const cacheableMethods: readonly string[] = [
  ...['server/discover', 'tools/list', 'prompts/list'],
  ...['resources/list', 'resources/templates/list', 'resources/read'],
  ...skillMethods,
];

/** The requests that may need several rounds. */
export const roundMethods: readonly string[] = ['tools/call', 'prompts/get', 'resources/read'];

/**
 * The member of the parameters of a question in which the gate's two sides tell each other its request and its key. It is on
 * no wire.
 */
export const roundMember = 'countersign/round';

/** What a server may ask of its client in a round. */
export const inputMethods: readonly string[] = ['elicitation/create', 'sampling/createMessage', 'roots/list'];

/**
 * The extensions that the gate passes on: none of their messages is a call of a tool, and none has another type of result.
 * The attack: a server declares an extension of its own, and a client calls a tool by its method, which the gate does not
 * know. So every other extension is left out, on both sides.
 */
export const passedExtensions: readonly string[] = ['io.modelcontextprotocol/ui', 'io.modelcontextprotocol/skills'];

/** The levels of log messages, the least important first. */
export const logLevels: readonly string[] = [
  ...['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'],
];
