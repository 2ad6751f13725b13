import { jcsDigest, type JsonObject } from '@countersign/contracts';
import { fetchUnencoded } from '@countersign/worker-sdk';
import { HookInputError, type AgentCall, type CodingAgent, type Decision, type HookAnswer } from './agent.js';
import { decide } from './decide.js';
import { checkBeforeEvent, isBeforeEvent, parseHookInput } from './hook-input.js';
import type { Marks } from './marks.js';
import type { HookOptions } from './options.js';
import { report } from './report.js';
import { didNotRun, whyNotRecorded } from './why.js';

const graceMsDefault = 5_000;
/** A hook does not wait long for a server that is away. */
const attempts = 3;

/** The input of one run of a hook. */
export interface HookRun {
  readonly agent: CodingAgent;
  /** The bytes of the agent on stdin. */
  readonly input: Promise<Uint8Array>;
  readonly marks: Marks;
  /** Aborted when the process is asked to stop; the answer is a failure then. */
  readonly interrupted?: AbortSignal;
}

type Settings = () => HookOptions | Promise<HookOptions>;

/**
 * Answers the hook of an agent before a tool runs. Never rejects: every failure is a denial in the form that stops the
 * tool, and it comes before the agent's own timeout. The settings are a function so that their failures deny too.
 */
export async function beforeTool(run: HookRun, settings: Settings): Promise<HookAnswer> {
  const { agent, marks } = run;
  try {
    return await inTime(
      run,
      settings,
      ({ holdMs }) => holdMs,
      async (input, options, signal) => {
        checkBeforeEvent(agent, input);
        const call = agent.readCall(input);
        const output = written(agent, await decide({ agent, options, marks, signal }, call));
        const stderr = warnOnce(marks, agent.failsOpen(input), call);
        return { stdout: output === null ? '' : JSON.stringify(output), stderr, exitCode: 0 };
      },
    );
  } catch (error) {
    return failure(agent, didNotRun(error));
  }
}

/**
 * Reports a tool that ran. Never rejects, and does not stop the agent: the tool has run. Only before a tool, where the agent
 * should not run this hook, it denies.
 */
export async function afterTool(run: HookRun, settings: Settings): Promise<HookAnswer> {
  const { agent, marks } = run;
  try {
    return await inTime(
      run,
      settings,
      () => 0,
      async (input, options, signal) => {
        if (isBeforeEvent(agent, input)) return failure(agent, didNotRun(misplaced()));
        const note = await report({ options, marks, signal }, agent.readEnd(input));
        return { stdout: note === null ? '' : JSON.stringify(agent.note(note)), stderr: '', exitCode: 0 };
      },
    );
  } catch (error) {
    const stderr = `The result was not recorded, and its call will be unknown: ${whyNotRecorded(error)}`;
    return { stdout: '', stderr, exitCode: 1 };
  }
}

/** Does the work with the input and the settings. Rejects when its time is over, and when the hook is interrupted. */
async function inTime(
  { input, interrupted }: HookRun,
  settings: Settings,
  holdOf: (options: HookOptions) => number,
  work: (input: JsonObject, options: HookOptions, signal: AbortSignal) => Promise<HookAnswer>,
): Promise<HookAnswer> {
  // It may fail after the decision about another failure.
  input.catch(() => undefined);
  const { options, lastStatus } = watched({ attempts, ...(await settings()) });
  const limitMs = holdOf(options) + (options.graceMs ?? graceMsDefault);
  const stop = new AbortController();
  let missing = (): string => `the agent did not end the input of the hook in ${String(limitMs)} ms`;
  const stopped = new Promise<never>((_resolve, reject) => {
    stop.signal.addEventListener('abort', () => {
      reject(stop.signal.reason as Error);
    });
  });
  const timer = setTimeout(() => {
    stop.abort(new Error(missing()));
  }, limitMs);
  const interrupt = (): void => {
    stop.abort(new Error('the hook was stopped'));
  };
  interrupted?.addEventListener('abort', interrupt);
  if (interrupted?.aborted === true) interrupt();
  try {
    const bytes = await Promise.race([input, stopped]);
    missing = () => `Countersign did not answer in ${String(limitMs)} ms${lastStatus()}`;
    return await Promise.race([work(parseHookInput(bytes), options, stop.signal), stopped]);
  } finally {
    clearTimeout(timer);
    interrupted?.removeEventListener('abort', interrupt);
  }
}

/** The options with a `fetch` that keeps the last status: a server that asks to wait longer has answered. */
function watched(options: HookOptions): { readonly options: HookOptions; readonly lastStatus: () => string } {
  let last = 0;
  const fetchOnce = options.fetch ?? fetchUnencoded;
  const watchedFetch: typeof fetch = async (input, init) => {
    const answer = await fetchOnce(input, init);
    last = answer.status;
    return answer;
  };
  const lastStatus = (): string => (last < 400 ? '' : `: its last status was ${String(last)}`);
  return { options: { ...options, fetch: watchedFetch }, lastStatus };
}

function misplaced(): HookInputError {
  const remedy = 'Remove --post from the command of a hook before a tool.';
  return new HookInputError('the hook has --post, and the agent ran it before a tool', remedy);
}

/** The decision in the agent's own form; null for an empty output. */
export function written(agent: CodingAgent, decision: Decision): JsonObject | null {
  switch (decision.type) {
    case 'pass':
      return agent.pass;
    case 'allow':
      return agent.allow(decision);
    case 'deny':
      return agent.deny(decision.reason);
    case 'defer':
      return agent.defer ?? agent.deny('A person decides in Countersign, and this agent cannot be resumed later.');
  }
}

/** The exit code stops the tool; an agent that reads stdout nevertheless finds a denial there. */
export function failure(agent: CodingAgent, reason: string): HookAnswer {
  return { stdout: JSON.stringify(agent.deny(reason)), stderr: reason, exitCode: agent.failureCode };
}

function warnOnce(marks: Marks, warning: string | null, { sessionId }: AgentCall): string {
  if (warning === null) return '';
  const key = `warned_${jcsDigest(sessionId).slice('sha256:'.length)}`;
  if (marks.get(key) !== undefined) return '';
  marks.set(key, '');
  return `countersign: ${warning}`;
}
