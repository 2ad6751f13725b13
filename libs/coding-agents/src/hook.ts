import { jcsDigest, type JsonObject } from '@countersign/contracts';
import type { AgentCall, CodingAgent, Decision, HookAnswer } from './agent.js';
import { decide } from './decide.js';
import { parseHookInput } from './hook-input.js';
import type { Marks } from './marks.js';
import type { HookOptions } from './options.js';
import { report } from './report.js';
import { didNotRun, whyOf } from './why.js';

const graceMsDefault = 5_000;
/** A hook does not wait long for a server that is away. */
const attempts = 3;

/** The input of one run of a hook. */
export interface HookRun {
  readonly agent: CodingAgent;
  /** The agent's text on stdin. */
  readonly input: Promise<string>;
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

/** Reports a tool that ran. Never rejects, and never stops the agent: the tool has run. */
export async function afterTool(run: HookRun, settings: Settings): Promise<HookAnswer> {
  const { agent, marks } = run;
  try {
    return await inTime(
      run,
      settings,
      () => 0,
      async (input, options, signal) => {
        const note = await report({ options, marks, signal }, agent.readEnd(input));
        return { stdout: note === null ? '' : JSON.stringify(agent.note(note)), stderr: '', exitCode: 0 };
      },
    );
  } catch (error) {
    const stderr = `The result was not recorded, and its call will be unknown: ${whyOf(error)}`;
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
  const options = { attempts, ...(await settings()) };
  const limitMs = holdOf(options) + (options.graceMs ?? graceMsDefault);
  const stop = new AbortController();
  let missing = 'the agent did not end the input of the hook';
  const stopped = new Promise<never>((_resolve, reject) => {
    stop.signal.addEventListener('abort', () => {
      reject(stop.signal.reason as Error);
    });
  });
  const timer = setTimeout(() => {
    stop.abort(new Error(`${missing} in ${String(limitMs)} ms`));
  }, limitMs);
  const interrupt = (): void => {
    stop.abort(new Error('the hook was stopped'));
  };
  interrupted?.addEventListener('abort', interrupt);
  if (interrupted?.aborted === true) interrupt();
  try {
    const text = await Promise.race([input, stopped]);
    missing = 'Countersign did not answer';
    return await Promise.race([work(parseHookInput(text), options, stop.signal), stopped]);
  } finally {
    clearTimeout(timer);
    interrupted?.removeEventListener('abort', interrupt);
  }
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
