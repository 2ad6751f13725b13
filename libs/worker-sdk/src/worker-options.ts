import type { ApprovalView, RequestApprovalBody } from '@countersign/contracts';
import type { Client } from './ledger/client.js';
import type { CallEnd, FrameworkCall } from './steps/framework-call.js';
import type { WorkerHooks } from './hooks.js';
import type { KafkaRequests } from './ledger/kafka-requests.js';
import type { StateOptions, WaitOptions } from './limits.js';
import type { WorkerLog } from './log.js';
import type { Middleware } from './execution/middleware.js';
import type { StepOutcome } from './results/outcome.js';
import type { ServeOptions } from './execution/serve.js';
import type { RunState, Step } from './state.js';
import type { GateTool } from './tools/tool-definition.js';
import type { TransportOptions } from './ledger/transport.js';

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
   * Names of tools of this agent that other workers, or the service itself, run. This worker never runs them. It requests
   * those that are also in `tools`, whose definition a request needs. A call of any other tool that is not in `tools`
   * fails at once (`unknown-tool`).
   */
  readonly toolsElsewhere?: readonly string[] | undefined;
  /**
   * Requests over Kafka instead of HTTP: requests are published, and the events topic tells what becomes of them. Claims,
   * outcomes, and reads of what a message cannot prove still use HTTP. Made by `kafka()` of
   * `@countersign/worker-sdk/kafka`, which needs kafkajs 2 as an additional package.
   */
  readonly kafka?: KafkaRequests | undefined;
  /** Default: silent. */
  readonly log?: WorkerLog | undefined;
  /** How long a claim lasts without a renewal, in ms; it is renewed after a third of it. Default: 60,000. */
  readonly leaseMs?: number | undefined;
  /** How long a tool may run that has no limit of its own, in ms. Default: 600,000 (10 minutes). */
  readonly toolTimeoutMs?: number | undefined;
  /** Runs around every tool of the worker. */
  readonly middleware?: readonly Middleware<C>[] | undefined;
  readonly hooks?: WorkerHooks | undefined;
  /**
   * Runs the calls of a step one after another in their order, unless the step says otherwise. Default: side by side. The
   * order is this worker's alone: a worker that serves the same agent runs each call as soon as it is approved.
   */
  readonly sequential?: boolean | undefined;
  /**
   * A long random secret of the application, for states with `bindTo`. All workers that resume such a state have the same
   * one. Default: `token`; so set it where the token changes while states are stored.
   */
  readonly stateKey?: string | undefined;
}

/** `run`: what to do at each pause. */
export interface RunOptions<C = unknown> extends StateOptions<C> {
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
  readonly step: (step: Step, options?: StateOptions<C>) => Promise<StepOutcome>;
  /**
   * Like `step`, but runs nothing: for a framework that runs the tools itself, each through `call`. With `timeoutMs` it
   * waits up to that long for people to decide.
   */
  readonly ask: (step: Step, options?: StateOptions<C>) => Promise<StepOutcome>;
  /**
   * One call that a framework is about to run. Requests it unless that has been done, runs it if it may run, and returns
   * its one result: the recorded one when it has run before, here or elsewhere. A pending approval is returned at once,
   * or is waited for up to `timeoutMs`. A call that another process runs is waited for.
   */
  readonly call: (call: FrameworkCall, options?: WaitOptions<C>) => Promise<CallEnd>;
  /**
   * Reads once, runs what has been approved, and returns the state. Throws `state-not-bound` for a state that was made with
   * another `bindTo`, as `wait` does.
   */
  readonly resume: (state: RunState, options?: StateOptions<C>) => Promise<StepOutcome>;
  /**
   * Waits on one connection until a call has a result (or is ready for the client) that `state` did not have, and runs
   * approved calls meanwhile. It waits for an unreachable server. Like `resume`, it throws `tool-call-mismatch` for a call
   * that was requested with another `clientExecuted` than that of the tool here, or approved with another folder or MCP server in
   * its labels: the call does not run here.
   */
  readonly wait: (state: RunState, options?: StateOptions<C>) => Promise<StepOutcome>;
  /**
   * `step`, then `wait` until every call has its result, or only client-executed calls are left, or the time is over.
   *
   * @example
   * for (const result of outcome.results) {
   *   console.log(result.toolName, result.status, result.message ?? result.output);
   * }
   */
  readonly run: (step: Step, options?: RunOptions<C>) => Promise<StepOutcome>;
  /**
   * Like `resume`, for a run whose state is lost: its calls of this agent, or those of one batch, from the ledger. The
   * caller says whose run it is: `bindTo` binds the new state, and checks nothing.
   */
  readonly restore: (runId: string, options?: StateOptions<C> & { readonly batchId?: string }) => Promise<StepOutcome>;
  /**
   * The approvals of a run that are pending, its oldest calls first. Runs nothing. With `timeoutMs` it waits up to that
   * long until there are none.
   */
  readonly pending: (runId: string, options?: Omit<WaitOptions, 'context'>) => Promise<readonly ApprovalView[]>;
  /**
   * Runs the approved calls of this agent in all its runs, those of earlier processes too, until `signal` aborts or the
   * worker is closed. Any number of workers may serve: each call runs once. An allowed call of a tool that needs an approval
   * here waits for one. Throws `CountersignError` when the server
   * refuses the token.
   *
   * @example
   * await worker.serve({ signal: stop.signal });
   */
  readonly serve: (options?: ServeOptions<C>) => Promise<void>;
  /** Submits the output of a client-executed call. A value that is not JSON is refused with a TypeError. */
  readonly submitOutput: (callId: string, output: unknown) => Promise<void>;
  /** Reports that a client-executed call failed. */
  readonly submitFailure: (callId: string, error: unknown) => Promise<void>;
  /** Asks again about a call that expired: a new approval of the same call. Its state is good for `wait` again. */
  readonly requestAgain: (callId: string, question?: RequestApprovalBody) => Promise<void>;
  /** Cancels a call that is not claimed. */
  readonly cancel: (callId: string, reason: string) => Promise<void>;
  /** Cancels the open calls of a run that its own principal requested. An admin cancels all. */
  readonly cancelRun: (runId: string, reason: string) => Promise<void>;
  /** The API under `token`, for everything else. */
  readonly client: Client;
  /**
   * Stops waits, aborts the signals of running tools, and resolves once they have reported, or after `graceMs` (10 s).
   * With `kafka` it MUST be called: the connections keep the process alive.
   */
  readonly close: (graceMs?: number) => Promise<void>;
}
