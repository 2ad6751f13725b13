import type { Clock } from '@countersign/http-client';
import type { Client } from './client.js';
import { CountersignError } from './errors.js';
import type { ExecutionPorts } from './execution-ports.js';
import type { Notices } from './hooks.js';
import { createCountdown, type WaitOptions, type Within } from './limits.js';
import { outcomeOf, type Given, type Session, type StepOutcome } from './outcome.js';
import { planStep } from './plan.js';
import { answerOf, questionTool, stepOfQuestion } from './question.js';
import { callsOfRun, callsOfState } from './read-run.js';
import { requestStep } from './request-step.js';
import type { Requests } from './requests.js';
import type { Sessions } from './session.js';
import { parseRunState, stateOfRun, type RunState, type Step } from './state.js';
import { questionToolName, type GateTool } from './tool-definition.js';
import type { RunOptions, Worker } from './worker-options.js';

/** The dependencies of steps. */
export interface StepPorts {
  readonly client: Client;
  readonly requests: Requests;
  readonly stepRequests: Pick<Requests, 'toolCalls'>;
  readonly sessions: Sessions;
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
}

/** The steps of one worker, and the waits for them. */
export interface Steps extends Pick<Worker, 'step' | 'resume' | 'wait' | 'run' | 'restore'> {
  readonly ask: (step: Step, limits: WaitOptions) => Promise<StepOutcome>;
  /** Undefined when the time was over before the server had responded. */
  readonly follow: (state: RunState, limits: WaitOptions) => Promise<StepOutcome | undefined>;
  /** Asks a person from inside a running call. Throws a `CountersignError` when there is no answer. */
  readonly askPerson: ExecutionPorts['ask'];
}

export function createSteps(ports: StepPorts): Steps {
  const { client, requests, stepRequests, sessions, tools, known, agentId, sequential, notices, within, clock, url } =
    ports;

  const answer = (session: Session): StepOutcome => outcomeOf(session, known);

  const open = async (state: RunState, limits: WaitOptions): Promise<Session> => {
    const session: Session = { state, views: new Map(), given: givenBy(limits) };
    if (isRequested(state)) sessions.take(session, await callsOfState(client, state, { signal: limits.signal }));
    return session;
  };
  const resume = async (state: RunState, limits: WaitOptions = {}): Promise<StepOutcome> => {
    const session = await open(parseRunState(state), limits);
    await within(limits, (signal) => sessions.settle(session, signal));
    return answer(session);
  };
  const request = async (asked: Step, limits: WaitOptions, declared = tools): Promise<Session> => {
    const step = { sequential: sequential, ...asked };
    const plan = await planStep(step, declared, agentId, limits.context);
    const { state, views } = await requestStep(stepRequests, agentId, step, plan, limits);
    for (const { local } of state.calls) if (local !== null) notices.refused(state.runId, local);
    for (const view of views) notices.requested(view);
    const session: Session = { state, views: new Map(), given: givenBy(limits, step.messages) };
    sessions.take(session, views);
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
    throw new CountersignError({ code: 'unreachable', message: `no answer from ${url} while waiting` });
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
      outcome = (await follow(outcome.state, { signal: either }).catch(unlessAborted(ended))) ?? outcome;
    for (const { callId } of outcome.pendingApprovals) await requests.cancel(callId, 'its tool has ended');
    for (const { callId } of outcome.clientCalls) await requests.cancel(callId, 'it was approved without an answer');
    return answerOf(outcome);
  };
  const restore: Worker['restore'] = async (runId, limits = {}) => {
    const calls = await callsOfRun(client, runId, { signal: limits.signal });
    return resume(stateOfRun({ runId, calls }, { agentId, batchId: limits.batchId, sequential }), limits);
  };
  const ask = async (asked: Step, limits: WaitOptions): Promise<StepOutcome> => answer(await request(asked, limits));
  return { ask, step, resume, follow, wait, run, restore, askPerson };
}

/** Handles the error of a wait that this signal has ended. */
function unlessAborted(signal: AbortSignal): (error: unknown) => undefined {
  return (error) => {
    if (!signal.aborted) throw error;
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
