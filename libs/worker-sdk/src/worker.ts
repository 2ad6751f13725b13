import { randomUUID } from 'node:crypto';
import type { RequestApprovalBody } from '@countersign/contracts';
import { clientOver, type Client } from './client.js';
import { submitFailure, submitOutput } from './client-output.js';
import { CountersignError } from './errors.js';
import type { ExecutionPorts } from './execution.js';
import type { GateTool } from './gate-tool.js';
import { openKafkaRequests } from './kafka/open-requests.js';
import type { KafkaOptions } from './kafka/options.js';
import { createCountdown, createWithin, type WaitOptions } from './limits.js';
import { endOfAsking, endOfCall, type CallEnd, type FrameworkCall } from './framework-call.js';
import { silentLog, type WorkerLog } from './log.js';
import { outcomeOf, type Given, type Session, type StepOutcome } from './outcome.js';
import { planStep } from './plan.js';
import { requestStep } from './request-step.js';
import { requestsOverHttp } from './requests.js';
import { createSessions, takeViews } from './session.js';
import { parseRunState, stateOfRun, type RunState, type Step } from './state.js';
import { checkLimitMs } from './time-limit.js';
import { createTransport, type TransportOptions } from './transport.js';

/** The options of a worker. */
export interface WorkerOptions<C = unknown> extends TransportOptions {
  /** A token with role agent; with role resolver too, unless `resolverToken` has it. */
  readonly token: string;
  /** A token with role resolver, for claims and outcomes. Default: `token`. */
  readonly resolverToken?: string | undefined;
  /** For whom the calls are requested. */
  readonly agentId: string;
  readonly tools: readonly GateTool<C>[];
  /**
   * Names of tools of this agent that other workers, or the service itself, run. A call of any other tool that is not in
   * `tools` fails at once (`unknown-tool`).
   */
  readonly toolsElsewhere?: readonly string[] | undefined;
  /**
   * Requests over Kafka instead of HTTP: requests are published, and events end the waits. Claims, outcomes and reads
   * still use HTTP. It needs kafkajs 2 as an additional package.
   */
  readonly kafka?: KafkaOptions | undefined;
  /** Default: silent. */
  readonly log?: WorkerLog | undefined;
  /** How long a claim lasts without a renewal; it is renewed after a third of it. Default: 60,000. */
  readonly leaseMs?: number | undefined;
  /** How long a tool may run that has no limit of its own, in ms. Default: 600,000 (10 minutes). */
  readonly toolTimeoutMs?: number | undefined;
}

/** `run`: what to do at each pause. */
export interface RunOptions<C = unknown> extends WaitOptions<C> {
  /** Called before each wait: the moment to store `outcome.state`, and to hand out `outcome.clientCalls`. */
  readonly onPause?: ((outcome: StepOutcome) => void | Promise<void>) | undefined;
}

/** Requests approvals for an agent, and runs its tools. `C` is the type of the context that is passed to them. */
export interface Worker<C = unknown> {
  /**
   * Requests all calls of one model step, runs those that need no approval in parallel, and returns the pause as a
   * value. The same step is the same calls again, so a repeat after an error is safe. Throws `CountersignError` when
   * the request is refused or the server stays unreachable.
   */
  readonly step: (step: Step, options?: WaitOptions<C>) => Promise<StepOutcome>;
  /**
   * Like `step`, but runs nothing: for a framework that runs the tools itself, each through `call`. With `timeoutMs` it
   * waits so long until no call waits for people.
   */
  readonly ask: (step: Step, options?: WaitOptions<C>) => Promise<StepOutcome>;
  /**
   * One call that a framework is about to run. Requests it unless that has been done, runs it if it may run, and returns
   * its one result: the recorded one when it has run before, here or elsewhere. A pending approval is returned at once,
   * or is waited for up to `timeoutMs`. A call that another process runs is waited for.
   */
  readonly call: (call: FrameworkCall, options?: WaitOptions<C>) => Promise<CallEnd>;
  /** Reads once, runs what has been approved, and returns the state. */
  readonly resume: (state: RunState, options?: WaitOptions<C>) => Promise<StepOutcome>;
  /**
   * Waits on one connection until a call has a result (or is ready for the client) that `state` did not have, and runs
   * approved calls meanwhile. It waits for an unreachable server.
   */
  readonly wait: (state: RunState, options?: WaitOptions<C>) => Promise<StepOutcome>;
  /**
   * `step`, then `wait` until every call has its result, or only client-executed calls are left, or the time is over.
   *
   * @example
   * for (const result of outcome.results) {
   *   console.log(result.toolName, result.status, result.message ?? result.output);
   * }
   */
  readonly run: (step: Step, options?: RunOptions<C>) => Promise<StepOutcome>;
  /** Like `resume`, for a run whose state is lost: its calls of this agent, or those of one batch, from the ledger. */
  readonly restore: (runId: string, options?: WaitOptions<C> & { readonly batchId?: string }) => Promise<StepOutcome>;
  /** Submits the output of a client-executed call. A value that is not JSON is refused with a TypeError. */
  readonly submitOutput: (callId: string, output: unknown) => Promise<void>;
  /** Reports that a client-executed call failed. */
  readonly submitFailure: (callId: string, error: unknown) => Promise<void>;
  /** Asks again about a call that expired: a new approval of the same call. Its state is good for `wait` again. */
  readonly requestAgain: (callId: string, question?: RequestApprovalBody) => Promise<void>;
  /** Cancels a call that is not claimed. */
  readonly cancel: (callId: string, reason: string) => Promise<void>;
  /** Cancels all open calls of a run. */
  readonly cancelRun: (runId: string, reason: string) => Promise<void>;
  /** The API under `token`, for everything else. */
  readonly client: Client;
  /**
   * Stops waits, aborts the signals of running tools, and resolves once they have reported, or after `graceMs` (10 s).
   * With `kafka` it MUST be called: the connections keep the process alive.
   */
  readonly close: (graceMs?: number) => Promise<void>;
}

/** About half a minute: long enough for a server that restarts. */
const attemptsDefault = 9;

/**
 * A worker over a set of tools.
 *
 * @example
 * const worker = createWorker({
 *   url: 'http://127.0.0.1:7400',
 *   token: process.env['AGENT_TOKEN'] ?? '',
 *   resolverToken: process.env['WORKER_TOKEN'] ?? '',
 *   agentId: 'agent',
 *   tools: [deleteFile],
 * });
 */
export function createWorker<C = unknown>(options: WorkerOptions<C>): Worker<C> {
  const transport = createTransport({ ...options, attempts: options.attempts ?? attemptsDefault });
  const client = clientOver(transport, options.token);
  // Only `step`, `wait` and the like, which take a `C`, pass a context to these tools.
  const tools = toolsByName(options.tools as readonly GateTool[]);
  const elsewhere = new Set(options.toolsElsewhere);
  checkLimitMs('createWorker', options.toolTimeoutMs);
  const stopping = new AbortController();
  const stopped = new AbortController();
  const ports: ExecutionPorts = {
    requester: client,
    resolver: clientOver(transport, options.resolverToken ?? options.token),
    clock: transport.clock,
    log: options.log ?? silentLog,
    resolverId: `${options.agentId.slice(0, 200)}/${randomUUID()}`,
    leaseMs: options.leaseMs ?? 60_000,
    toolTimeoutMs: options.toolTimeoutMs ?? 600_000,
    stopping: stopping.signal,
    stopped: stopped.signal,
  };
  const { kafka, agentId } = options;
  const requests =
    kafka === undefined
      ? requestsOverHttp(client)
      : openKafkaRequests({ kafka, client, transport, agentId, log: ports.log });
  const sessions = createSessions(ports, requests, tools, (toolName) => elsewhere.has(toolName));
  const within = createWithin(ports.clock, stopping.signal);

  const answer = (session: Session): StepOutcome => outcomeOf(session, tools);

  const open = async (state: RunState, limits: WaitOptions): Promise<Session> => {
    const session: Session = { state, views: new Map(), given: givenBy(limits) };
    if (isRequested(state)) takeViews(session, (await client.getRun(state.runId, { signal: limits.signal })).calls);
    return session;
  };
  const resume = async (state: RunState, limits: WaitOptions = {}): Promise<StepOutcome> => {
    const session = await open(parseRunState(state), limits);
    await within(limits, (signal) => sessions.settle(session, signal));
    return answer(session);
  };
  const request = async (asked: Step, limits: WaitOptions): Promise<Session> => {
    const plan = await planStep(asked, tools, agentId, limits.context);
    const { state, views } = await requestStep(requests, agentId, asked, plan, limits);
    const session: Session = { state, views: new Map(), given: givenBy(limits, asked.messages) };
    takeViews(session, views);
    return session;
  };
  const step = async (asked: Step, limits: WaitOptions = {}): Promise<StepOutcome> => {
    const session = await request(asked, limits);
    await within(limits, (signal) => sessions.settle(session, signal));
    return answer(session);
  };
  /** Undefined when the time was over before the server had responded. */
  const follow = async (state: RunState, limits: WaitOptions): Promise<StepOutcome | undefined> => {
    const session: Session = { state, views: new Map(), given: givenBy(limits) };
    if (!isRequested(state)) return answer(session);
    await within(limits, (signal) => sessions.follow(session, signal));
    return session.views.size === 0 ? undefined : answer(session);
  };
  const wait = async (state: RunState, limits: WaitOptions = {}): Promise<StepOutcome> => {
    const outcome = await follow(parseRunState(state), limits);
    if (outcome !== undefined) return outcome;
    throw new CountersignError({ code: 'unreachable', message: `no answer from ${options.url} while waiting` });
  };
  const run = async (asked: Step, limits: RunOptions = {}): Promise<StepOutcome> => {
    const limitsNow = createCountdown(ports.clock, limits);
    let outcome = await step(asked, limitsNow());
    while (isWaiting(outcome) && limitsNow().timeoutMs !== 0) {
      await limits.onPause?.(outcome);
      outcome = (await follow(outcome.state, limitsNow())) ?? outcome;
    }
    return outcome;
  };
  return {
    step,
    ask: (asked, limits = {}) => {
      const ask = async (now: WaitOptions): Promise<StepOutcome> => answer(await request(asked, now));
      return endOfAsking({ ask, client }, limits, createCountdown(ports.clock, limits));
    },
    call: (call, limits = {}) => endOfCall({ step, follow }, call, limits, createCountdown(ports.clock, limits)),
    resume,
    wait,
    run,
    client,
    restore: async (runId, limits = {}) => {
      const view = await client.getRun(runId, { signal: limits.signal });
      return resume(stateOfRun(view, options.agentId, limits.batchId), limits);
    },
    submitOutput: (callId, output) => submitOutput(requests, callId, output),
    submitFailure: (callId, error) => submitFailure(requests, callId, error),
    requestAgain: (callId, question = {}) => requests.approval(callId, question),
    cancel: (callId, reason) => requests.cancel(callId, reason),
    cancelRun: (runId, reason) => requests.cancelRun(runId, reason),
    close: async (graceMs = 10_000) => {
      stopping.abort(new Error('the worker is closed'));
      const cancel = ports.clock.setTimer(graceMs, () => {
        stopped.abort(new Error('the worker is closed'));
      });
      await sessions.idle().finally(cancel);
      stopped.abort(new Error('the worker is closed'));
      await requests.close();
    },
  };
}

function givenBy(limits: WaitOptions, messages: readonly unknown[] = []): Given {
  return { context: limits.context, messages };
}

function isRequested(state: RunState): boolean {
  return state.calls.some((call) => call.callId !== null);
}

function isWaiting(outcome: StepOutcome): boolean {
  return outcome.stopReason === 'awaiting_approval' || outcome.stopReason === 'awaiting_execution';
}

function toolsByName(tools: readonly GateTool[]): ReadonlyMap<string, GateTool> {
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  if (byName.size === tools.length) return byName;
  const twice = tools.find((tool, index) => tools.findIndex(({ name }) => name === tool.name) !== index);
  throw new TypeError(`there are two tools named ${String(twice?.name)}`);
}
