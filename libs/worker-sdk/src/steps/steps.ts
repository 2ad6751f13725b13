import type { Clock } from '@countersign/contracts/clock';
import type { Client } from '../ledger/client.js';
import { CountersignError, isRefusal } from '../errors.js';
import type { ExecutionPorts } from '../execution/execution-ports.js';
import type { Executions } from '../execution/executions.js';
import type { Notices } from '../hooks.js';
import { createCountdown, type StateOptions, type WaitOptions, type Within } from '../limits.js';
import { outcomeOf, type Session, type StepOutcome } from '../results/outcome.js';
import { resultOfFailure } from '../results/results.js';
import { unlessAborted } from '../ledger/reject-on-abort.js';
import { planStep, type RecordedCalls, type StepPlan } from './plan.js';
import { answerOf, questionTool, stepOfQuestion } from './question.js';
import { callsOfRun, findInRun } from '../ledger/read-run.js';
import { checkRequestId, requestStep, type RequestedStep } from './request-step.js';
import type { Requests } from '../ledger/requests.js';
import { isSameJson } from '../tools/schema.js';
import type { Sessions } from './session.js';
import { parseRunState, stateOfRun, type RunState, type Step } from '../state.js';
import { checkBindTo, type StateBinding } from '../state-binding.js';
import { questionToolName, type GateTool } from '../tools/tool-definition.js';
import type { RunOptions, Worker } from '../worker-options.js';

/** The dependencies of steps. */
export interface StepPorts {
  readonly client: Client;
  readonly requests: Requests;
  readonly stepRequests: Pick<Requests, 'toolCalls'>;
  readonly sessions: Sessions;
  readonly executions: Pick<Executions, 'stopOf'>;
  /** The tools that a model may call. */
  readonly tools: ReadonlyMap<string, GateTool>;
  /** These, and the one of questions. */
  readonly known: ReadonlyMap<string, GateTool>;
  readonly agentId: string;
  readonly sequential: boolean | undefined;
  readonly notices: Notices;
  readonly within: Within;
  readonly clock: Clock;
  readonly url: string;
  readonly binding: StateBinding;
}

/** The steps of one worker, and the waits for them. */
export interface Steps extends Pick<Worker, 'step' | 'resume' | 'wait' | 'run' | 'restore'> {
  readonly ask: (step: Step, limits: StateOptions) => Promise<StepOutcome>;
  /** Undefined when the time was over before the server had responded. */
  readonly follow: (state: RunState, limits: StateOptions) => Promise<StepOutcome | undefined>;
  /** Asks a person from inside a running call. Throws a `CountersignError` when there is no answer. */
  readonly askPerson: ExecutionPorts['ask'];
}

export function createSteps(ports: StepPorts): Steps {
  const { client, requests, stepRequests, sessions, tools, known, agentId, sequential, notices, within, clock, url } =
    ports;

  const answer = (session: Session): StepOutcome => {
    const outcome = outcomeOf(session, known, ports.executions.stopOf);
    return { ...outcome, state: ports.binding.bind(outcome.state, session.bindTo) };
  };

  const open = async (state: RunState, limits: StateOptions): Promise<Session> => {
    const session = sessionOf(state, limits);
    if (isRequested(state)) sessions.take(session, await requests.callsNow(state, { signal: limits.signal }));
    return session;
  };
  /** Opens a session and advances it. The time limit is for both, but the first one has a few seconds in any case. */
  const advance = async (
    limits: StateOptions,
    begin: (now: StateOptions) => Promise<Session>,
    work: Sessions['settle'] = sessions.settle,
  ): Promise<StepOutcome> => {
    const limitsNow = createCountdown(clock, limits);
    const ofRequest = { ...limits, timeoutMs: requestLimitOf(limits) };
    const session = await within(ofRequest, (signal) => begin({ ...limits, signal }));
    if (session === undefined) throw noResponse(url, ofRequest);
    await within(limitsNow(), (signal) => work(session, signal));
    return answer(session);
  };
  const resume = (state: RunState, limits: StateOptions = {}): Promise<StepOutcome> =>
    advance(limits, async (now) => open(stateOf(ports, state, limits), now));
  const record = async (step: Step, limits: StateOptions, declared: typeof tools): Promise<RequestedStep> => {
    const find = findInRun(client, { runId: step.runId, agentId }, { signal: limits.signal });
    const plan = (about: RecordedCalls['about']): Promise<StepPlan> =>
      unlessAborted(
        limits.signal,
        planStep(step, declared, { agentId, given: limits.context, recorded: { find, about } }),
      );
    const first = await plan('invalid');
    try {
      return await requestStep(stepRequests, agentId, step, first, limits);
    } catch (error) {
      if (!isRefusal(error, 'tool-call-mismatch', 'idempotency-key-reused')) throw error;
      const again = await plan('all');
      if (hasSameArguments(first, again)) throw error;
      return requestStep(stepRequests, agentId, { ...step, requestId: undefined }, again, limits);
    }
  };
  const request = async (asked: Step, limits: StateOptions, declared = tools): Promise<Session> => {
    checkRequestId(asked);
    checkBindTo(limits.bindTo);
    const step = { sequential: sequential, ...asked };
    const { state, views } = await record(step, limits, declared);
    for (const call of state.calls)
      if (call.local !== null) notices.refused(state.runId, resultOfFailure(call, call.local));
    for (const view of views) notices.requested(view);
    const session = sessionOf(state, limits, step.messages);
    sessions.take(session, views);
    return session;
  };
  const step = (asked: Step, limits: StateOptions = {}): Promise<StepOutcome> =>
    advance(limits, (now) => request(asked, now));
  /** Undefined when the time was over before the server had responded. */
  const follow = async (state: RunState, limits: StateOptions): Promise<StepOutcome | undefined> => {
    const session = sessionOf(state, limits);
    if (!isRequested(state)) return answer(session);
    await within(limits, (signal) => sessions.follow(session, signal));
    return session.views.size === 0 ? undefined : answer(session);
  };
  const wait = async (state: RunState, limits: StateOptions = {}): Promise<StepOutcome> => {
    const { timeoutMs = Infinity } = limits;
    const outcome = timeoutMs === 0 ? undefined : await follow(stateOf(ports, state, limits), limits);
    if (outcome !== undefined) return outcome;
    if (timeoutMs >= requestMsMin) throw noResponse(url, limits);
    return resume(state, { ...limits, timeoutMs: 0 });
  };
  const run = async (asked: Step, limits: RunOptions = {}): Promise<StepOutcome> => {
    const limitsNow = createCountdown(clock, limits);
    let outcome = await step(asked, limitsNow());
    while (isWaiting(outcome) && limitsNow().timeoutMs !== 0) {
      await limits.onPause?.(outcome);
      outcome = (await follow(outcome.state, limitsNow())) ?? outcome;
    }
    return outcome;
  };
  const askPerson: ExecutionPorts['ask'] = async (call, question, signal, ended) => {
    const declared = new Map([[questionToolName, questionTool(question)]]);
    let outcome = answer(await request(stepOfQuestion(call, question), { signal }, declared));
    const either = AbortSignal.any([signal, ended]);
    while (outcome.stopReason === 'awaiting_approval' && !ended.aborted)
      outcome = (await follow(outcome.state, { signal: either }).catch(exceptWhenAborted(ended))) ?? outcome;
    for (const { callId } of outcome.pendingApprovals) await requests.cancel(callId, 'its tool has ended');
    for (const { callId } of outcome.clientCalls) await requests.cancel(callId, 'it was approved without an answer');
    signal.throwIfAborted();
    return answerOf(outcome);
  };
  const restore: Worker['restore'] = (runId, limits = {}) =>
    advance(limits, async (now) => {
      checkBindTo(limits.bindTo);
      const calls = await callsOfRun(client, runId, { signal: now.signal });
      return open(stateOfRun({ runId, calls }, { agentId, batchId: limits.batchId, sequential }), now);
    });
  const ask = (asked: Step, limits: StateOptions): Promise<StepOutcome> =>
    advance(limits, (now) => request(asked, now), sessions.refuseInvalid);
  return { ask, step, resume, follow, wait, run, restore, askPerson };
}

/** Returns a state that came back. It decides nothing before it is checked. */
function stateOf({ binding }: StepPorts, stored: RunState, { bindTo }: StateOptions): RunState {
  checkBindTo(bindTo);
  const state = parseRunState(stored);
  binding.check(state, bindTo);
  return state;
}

/** So that a short limit, which means "do not wait for people", is no failure on a slow network. */
const requestMsMin = 5000;

function hasSameArguments(one: StepPlan, other: StepPlan): boolean {
  return other.requests.every((request, index) => isSameJson(request.arguments, one.requests[index]?.arguments));
}

function requestLimitOf({ timeoutMs }: WaitOptions): number | undefined {
  return timeoutMs === undefined ? undefined : Math.max(timeoutMs, requestMsMin);
}

function noResponse(url: string, { timeoutMs = Infinity }: WaitOptions): CountersignError {
  const message = `no response from ${url} within ${String(Math.ceil(timeoutMs))} ms`;
  return new CountersignError({ code: 'unreachable', message });
}

/** Handles the error of a wait that this signal has ended. */
function exceptWhenAborted(signal: AbortSignal): (error: unknown) => undefined {
  return (error) => {
    if (!signal.aborted) throw error;
  };
}

function sessionOf(state: RunState, { context, bindTo }: StateOptions, messages: readonly unknown[] = []): Session {
  return { state, views: new Map(), given: { context, messages }, bindTo };
}

function isRequested(state: RunState): boolean {
  return state.calls.some((call) => call.callId !== null);
}

function isWaiting(outcome: StepOutcome): boolean {
  return outcome.stopReason === 'awaiting_approval' || outcome.stopReason === 'awaiting_execution';
}
