import { randomUUID } from 'node:crypto';
import { linkedController } from '@countersign/http-client';
import { clientOver, type Client } from './ledger/client.js';
import { checkInteger, checkWaitMs } from './tools/check-numbers.js';
import { submitFailure, submitOutput } from './steps/client-output.js';
import type { ExecutionPorts } from './execution/execution-ports.js';
import { createExecutions } from './execution/executions.js';
import { endOfAsking, endOfCall, pendingIn } from './steps/framework-call.js';
import { createNotices } from './hooks.js';
import { createCountdown, createWithin, type WaitOptions } from './limits.js';
import { silentLog, type WorkerLog } from './log.js';
import { createMayClaim, type MayClaim } from './ledger/may-claim.js';
import type { Middleware } from './execution/middleware.js';
import { questionTool } from './steps/question.js';
import { requestsOverHttp, type Requests } from './ledger/requests.js';
import { serveCalls, type ServeOptions } from './execution/serve.js';
import { createSessions } from './steps/session.js';
import { createStepRequests } from './steps/step-requests.js';
import { warningOfRepeats } from './steps/warn-of-repeats.js';
import { createSteps } from './steps/steps.js';
import { createStateBinding } from './state-binding.js';
import { questionToolName, type GateTool } from './tools/tool-definition.js';
import { checkToken, createTransport, type Transport } from './ledger/transport.js';
import type { Worker, WorkerOptions } from './worker-options.js';

/** How many calls `serve` runs at once. */
const serveConcurrency = 8;

/** About half a minute: long enough for a server that restarts. */
const attemptsDefault = 9;

/**
 * A worker over a set of tools.
 *
 * @param mayClaim for a program with many workers: their common proof that the resolver's token may claim. Default: each
 *   worker proves it, once, before its first request.
 *
 * @example
 * const worker = createWorker({
 *   url: process.env['COUNTERSIGN_URL'] ?? 'http://127.0.0.1:7400',
 *   token: process.env['COUNTERSIGN_TOKEN'] ?? '',
 *   resolverToken: process.env['COUNTERSIGN_RESOLVER_TOKEN'] ?? '',
 *   agentId: 'agent',
 *   tools: [deleteFile],
 * });
 */
export function createWorker<C = unknown>(options: WorkerOptions<C>, mayClaim?: MayClaim): Worker<C> {
  checkOptions(options);
  const transport = createTransport({ ...options, attempts: options.attempts ?? attemptsDefault });
  const client = clientOver(transport, options.token);
  // Only `step`, `wait` and the like, which take a `C`, pass a context to these tools.
  const tools = toolsByName(options.tools as readonly GateTool[]);
  const elsewhere = new Set(options.toolsElsewhere);
  const log = options.log ?? silentLog;
  const notices = createNotices(options.hooks ?? {}, log);
  const stopping = new AbortController();
  const stopped = new AbortController();
  const { agentId, sequential } = options;
  const { requests, resolver } = openRequests(options, { client, transport, log });
  const ports: ExecutionPorts = {
    requester: client,
    resolver,
    requests,
    clock: transport.clock,
    log,
    resolverId: `${options.agentId.slice(0, 200).toWellFormed()}/${randomUUID()}`,
    leaseMs: options.leaseMs ?? 60_000,
    toolTimeoutMs: options.toolTimeoutMs ?? 600_000,
    middleware: (options.middleware ?? []) as readonly Middleware[],
    ask: (...asked) => steps.askPerson(...asked),
    stopping: stopping.signal,
    stopped: stopped.signal,
  };
  const executions = createExecutions(ports, notices.seen, requests.afterRun);
  // The questions of running tools are calls as well. A model cannot make one: it is not among `tools`.
  const known = new Map([...tools, [questionToolName, questionTool()] as const]);
  const runsElsewhere = (toolName: string): boolean => elsewhere.has(toolName);
  const running = { requests, tools: known, executions, runsElsewhere, notice: notices.seen };
  const sessions = createSessions({ ...ports, ...running });
  const runsHere = (name: string): boolean => tools.get(name)?.clientExecuted === false && !runsElsewhere(name);
  const stepRequests = createStepRequests({
    requests: { ...requests, toolCalls: warningOfRepeats(requests.toolCalls, log) },
    client,
    runsHere,
    mayClaim: mayClaim ?? proofOf(ports, options),
  });
  const within = createWithin(ports.clock, stopping.signal);
  const all = { client, requests, stepRequests, sessions, tools, known, agentId, sequential, notices, within };
  const binding = createStateBinding(options.stateKey ?? options.token);
  const steps = createSteps({ ...all, executions, url: options.url, clock: ports.clock, binding });
  const serve = async ({ signal, context, ...given }: ServeOptions<C> = {}): Promise<void> => {
    checkInteger('serve', 'concurrency', given.concurrency);
    const own = [...tools.values()].filter(({ name }) => !runsElsewhere(name));
    const served = toolsByName((given.tools as readonly GateTool[] | undefined) ?? own);
    const concurrency = sequential === true ? 1 : (given.concurrency ?? serveConcurrency);
    const isLeft = (toolName: string): boolean => known.has(toolName) || runsElsewhere(toolName);
    const limit = linkedController(signal, stopping.signal);
    const serving = {
      ...ports,
      agentId,
      requests,
      executions,
      tools: served,
      runsElsewhere: isLeft,
      concurrency,
      context,
    };
    await serveCalls(serving, limit.signal).finally(limit.release);
  };
  return {
    step: steps.step,
    resume: steps.resume,
    wait: steps.wait,
    run: steps.run,
    restore: steps.restore,
    ask: (step, limits = {}) => endOfAsking({ ...ports, ask: (now) => steps.ask(step, now) }, limits),
    call: (call, limits = {}) => endOfCall(steps, call, limits, createCountdown(ports.clock, limits)),
    pending: async (runId, limits = {}) => {
      const ask = ({ signal }: WaitOptions): ReturnType<typeof pendingIn> => pendingIn(client, runId, signal);
      return (await endOfAsking({ ...ports, ask }, limits)).pendingApprovals;
    },
    serve,
    client,
    submitOutput: (callId, output) => submitOutput(requests, callId, output),
    submitFailure: (callId, error) => submitFailure(requests, callId, error),
    requestAgain: (callId, question = {}) => requests.approval(callId, question),
    cancel: (callId, reason) => requests.cancel(callId, reason),
    cancelRun: (runId, reason) => requests.cancelRun(runId, reason),
    close: async (graceMs = 10_000) => {
      checkWaitMs('graceMs', graceMs);
      const startedAt = ports.clock.monotonic();
      stopping.abort(new Error('the worker is closed'));
      const cancel = ports.clock.setTimer(graceMs, () => {
        stopped.abort(new Error('the worker is closed'));
      });
      await executions.idle().finally(cancel);
      stopped.abort(new Error('the worker is closed'));
      await requests.close(Math.max(0, graceMs - (ports.clock.monotonic() - startedAt)));
    },
  };
}

/** How the worker requests calls, and how it claims and reports them. */
function openRequests(
  { kafka, agentId, token, resolverToken }: WorkerOptions<never>,
  shared: { readonly client: Client; readonly transport: Transport; readonly log: WorkerLog },
): { readonly requests: Requests; readonly resolver: Client } {
  const resolver = clientOver(shared.transport, resolverToken ?? token);
  if (kafka === undefined) return { requests: requestsOverHttp(shared.client), resolver };
  return kafka.open({ ...shared, agentId, resolver });
}

function checkOptions(options: WorkerOptions<never>): void {
  const { token, resolverToken, agentId, kafka, toolTimeoutMs, leaseMs, stateKey } = options;
  checkToken('token', token);
  checkToken('resolverToken', resolverToken ?? token);
  if (agentId.trim() === '') throw new TypeError('agentId is empty: name the agent for which the calls are requested.');
  // A program without types may pass bare options, which would fail later without their cause.
  if (kafka !== undefined && typeof kafka.open !== 'function')
    throw new TypeError('kafka must be made by kafka() of @countersign/worker-sdk/kafka: kafka({ brokers: [...] }).');
  if (stateKey?.trim() === '') throw new TypeError('stateKey is empty: set it to a secret, or leave it out.');
  checkInteger('createWorker', 'toolTimeoutMs', toolTimeoutMs);
  checkInteger('createWorker', 'leaseMs', leaseMs);
}

function proofOf(
  { resolver, requester, stopping }: ExecutionPorts,
  { kafka }: Pick<WorkerOptions<never>, 'kafka'>,
): MayClaim {
  // Over Kafka a step waits for the server without a limit, and so does its proof.
  const attempts = kafka === undefined ? undefined : Infinity;
  return createMayClaim(resolver, { agent: requester, signal: stopping, attempts });
}

function toolsByName(tools: readonly GateTool[]): ReadonlyMap<string, GateTool> {
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  if (byName.has(questionToolName)) {
    const why = 'the worker uses this name for questions (`ask`). Choose another name.';
    throw new TypeError(`a tool cannot be named ${questionToolName}: ${why}`);
  }
  if (byName.size === tools.length) return byName;
  const twice = tools.find((tool, index) => tools.findIndex(({ name }) => name === tool.name) !== index);
  throw new TypeError(`there are two tools named ${String(twice?.name)}`);
}
