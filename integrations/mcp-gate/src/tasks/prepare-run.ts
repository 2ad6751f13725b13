import { createWorker, type MayClaim, type ToolCallView } from '@countersign/worker-sdk';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { attempts, type GateOptions } from '../calls/gate-options.js';
import { checkDefinition, gatedToolOf, paramsForServer, toolLabelsOf } from '../calls/gated-tool.js';
import type { PreparedRun } from '../calls/task-run.js';
import type { Catalog } from '../server/catalog.js';
import { ConnectionLostError, type InnerRequest, type InnerRequests } from '../server/inner-requests.js';
import { createInnerRun } from '../server/inner-run.js';
import { createInnerStatus } from '../server/inner-status.js';
import { sendAsTask } from '../server/inner-task.js';
import type { ListedTool } from '../server/listed-tool.js';
import { createQuestions } from '../stateless/questions.js';
import { objectOf } from '../wire.js';

/** The dependencies of a run. */
export interface RunPorts {
  readonly options: GateOptions;
  readonly catalog: Catalog;
  readonly requests: InnerRequests;
  readonly mayClaim: MayClaim;
  /** Sends the answer to a question of the server. Default: no question is asked here. */
  readonly answerServer?: (message: JSONRPCMessage) => void;
  /** Called when the call of a task is decided, and when its run has ended. */
  readonly changed: (callId: string) => void;
}

/** What the client said about a call. */
export interface RunRequest {
  readonly labels: Readonly<Record<string, string>>;
  readonly params: Readonly<Record<string, unknown>>;
  /** The tool with the hints that count. Default: those of the tool. */
  readonly stricter?: ListedTool;
}

/** A task of the server may take this long. The lease is renewed meanwhile. */
const taskMsMax = 604_800_000;
/** A server that makes tasks of some calls may leave another one without a reply. */
const replyMsMax = 600_000;

/** Returns a worker for one call of a tool. */
export function prepareRun(
  ports: RunPorts,
  tool: ListedTool,
  { labels, params, stricter = tool }: RunRequest,
): PreparedRun {
  const { options, catalog, requests, mayClaim, answerServer = () => undefined, changed } = ports;
  const cancelling = new AbortController();
  const hasOnlyTasks = tool.execution?.taskSupport === 'required';
  const becameTask = Promise.withResolvers<undefined>();
  const onTask = (taskId: string): void => {
    prepared.innerTaskId = taskId;
    becameTask.resolve(undefined);
  };
  const inner = createInnerRun((innerCall) => {
    const request = paramsForServer(params, innerCall);
    if (hasOnlyTasks) return sendAsTask(requests, request, onTask);
    const sent = requests.send('tools/call', request, () => {
      becameTask.resolve(undefined);
    });
    return requests.makesTasks() ? limited(sent, becameTask.promise) : sent;
  }, cancelling.signal);
  const allLabels = { ...labels, ...toolLabelsOf(tool, options.endpoint) };
  const own = gatedToolOf(stricter, options.gate, allLabels, async (args, receipt) => {
    checkDefinition(prepared.askedLabels, tool, await catalog.find(tool.name));
    return inner.execute(args, receipt);
  });
  const isLong = hasOnlyTasks || requests.makesTasks();
  const gated = isLong ? { ...own, toolTimeoutMs: taskMsMax } : own;
  const onDecided = ({ callId }: ToolCallView): void => {
    changed(callId);
  };
  const worker = createWorker({ ...options, tools: [gated], hooks: { onDecided }, attempts }, mayClaim);
  const prepared: PreparedRun = {
    ...{ worker, tool, inner, cancelling, innerTaskId: undefined, askedLabels: undefined },
    ...{ check: gated.check, becameTask: becameTask.promise, token: objectOf(params['_meta'])['progressToken'] },
    ...{ questions: createQuestions(answerServer, 'once'), capabilities: undefined },
    innerStatus: createInnerStatus(requests),
  };
  return prepared;
}

function limited(sent: InnerRequest, becameTask: Promise<undefined>): InnerRequest {
  const { promise: overdue, reject } = Promise.withResolvers<never>();
  overdue.catch(() => undefined);
  const timer = setTimeout(() => {
    sent.cancel('the MCP server has not responded in time');
    reject(new ConnectionLostError('the MCP server has neither responded nor made a task within 10 minutes'));
  }, replyMsMax).unref();
  const stop = (): void => {
    clearTimeout(timer);
  };
  void becameTask.then(stop);
  sent.reply.then(stop, stop);
  return { ...sent, reply: Promise.race([sent.reply, overdue]) };
}
