import { needsPerson } from '@countersign/worker-sdk';
import { isJSONRPCRequest, isJSONRPCResultResponse, type JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import type { GateOptions } from '../calls/gate-options.js';
import { isReadOnly, isUngated } from '../calls/ungated.js';
import { extensionNames, statelessVersion } from '../stateless/protocol.js';
import { objectOf } from '../wire.js';

/**
 * The gate offers tasks to a client that declares the capability, and before a server with tasks of its own. Other
 * clients see the server as it is.
 */
export interface TaskOffer {
  readonly fromClient: (message: JSONRPCMessage) => void;
  /** Returns the message for the client: the capability and the tools that it may call as tasks are added. */
  readonly fromServer: (message: JSONRPCMessage) => JSONRPCMessage;
  readonly isMade: () => boolean;
  readonly serverHasTasks: () => boolean;
}

type Members = Readonly<Record<string, unknown>>;
type Gating = Pick<GateOptions, 'gate' | 'ungated' | 'toolApproval'>;

export function createTaskOffer(options: Gating): TaskOffer {
  const asked = new Map<string | number, string>();
  let clientHasTasks = false;
  let serverHasTasks = false;
  let isStateless = false;
  const isMade = (): boolean => clientHasTasks || serverHasTasks;

  const initialized = (result: Members): Members => {
    const capabilities = objectOf(result['capabilities']);
    const tasks = objectOf(capabilities['tasks']);
    const requests = objectOf(tasks['requests']);
    const tools = objectOf(requests['tools']);
    serverHasTasks = 'call' in tools;
    if (isStateless) return withExtensions(result, capabilities, options);
    // Tasks are tool calls: a server without tools has none.
    if (!isMade() || !('tools' in capabilities)) return result;
    const offered = { ...tasks, list: {}, cancel: {}, requests: { ...requests, tools: { ...tools, call: {} } } };
    return { ...result, capabilities: { ...capabilities, tasks: offered } };
  };
  const listed = (result: Members): Members => {
    const { tools } = result;
    if (!clientHasTasks || !Array.isArray(tools)) return result;
    return { ...result, tools: tools.map((tool: unknown) => withTasks(objectOf(tool), options)) };
  };
  return {
    fromClient: (message) => {
      if (!isJSONRPCRequest(message)) return;
      if (message.method === 'initialize' || message.method === 'tools/list') asked.set(message.id, message.method);
      if (message.method !== 'initialize') return;
      const { capabilities, protocolVersion } = objectOf(message.params);
      clientHasTasks = 'tasks' in objectOf(capabilities);
      isStateless = protocolVersion === statelessVersion;
    },
    fromServer: (message) => {
      if (!('id' in message) || 'method' in message || message.id === undefined) return message;
      const method = asked.get(message.id);
      if (method === undefined) return message;
      asked.delete(message.id);
      if (!isJSONRPCResultResponse(message)) return message;
      return { ...message, result: method === 'initialize' ? initialized(message.result) : listed(message.result) };
    },
    isMade,
    serverHasTasks: () => serverHasTasks,
  };
}

/** The gate speaks the extension for tasks in place of the server, whose own declaration says nothing about the gate. */
function withExtensions(result: Members, capabilities: Members, { toolApproval = false }: Gating): Members {
  const {
    [extensionNames.tasks]: _tasks,
    [extensionNames.toolApproval]: _approval,
    ...others
  } = objectOf(capabilities['extensions']);
  const approval = toolApproval ? { [extensionNames.toolApproval]: {} } : {};
  const own = 'tools' in capabilities ? { [extensionNames.tasks]: {}, ...approval } : {};
  const extensions = { ...others, ...own };
  return { ...result, capabilities: { ...capabilities, extensions } };
}

/** A tool that may have to wait for people may be called as a task. */
function withTasks(tool: Members, { gate, ungated }: Gating): Members {
  if (isUngated(ungated, tool)) return tool;
  const execution = objectOf(tool['execution']);
  const hasTasks = execution['taskSupport'] === 'optional' || execution['taskSupport'] === 'required';
  // With `none` the policy alone decides; the gate does not know about which tools.
  if (hasTasks || !needsPerson(gate === 'none' ? 'writes' : gate, isReadOnly(tool))) return tool;
  return { ...tool, execution: { ...execution, taskSupport: 'optional' } };
}
