import { jcsDigest, type JsonObject } from '@countersign/contracts';
import type { AgentCall, CodingAgent, Decision, HookAnswer } from './agent.js';
import { decide } from './decide.js';
import { parseHookInput } from './hook-input.js';
import type { Marks } from './marks.js';
import type { HookOptions } from './options.js';
import { report } from './report.js';
import { whyOf } from './why.js';

const graceMsDefault = 5_000;
/** A hook does not wait long for a server that is away. */
const attempts = 3;

/** The input of one run of a hook. */
export interface HookRun {
  readonly agent: CodingAgent;
  /** The agent's text on stdin. */
  readonly input: Promise<string>;
  readonly marks: Marks;
}

/**
 * Answers the hook of an agent before a tool runs. Never rejects: every failure is a denial in the form that stops the
 * tool, and it comes before the agent's own timeout. The settings are a function so that their failures deny too.
 */
export async function beforeTool(
  run: HookRun,
  settings: () => HookOptions | Promise<HookOptions>,
): Promise<HookAnswer> {
  const { agent, marks } = run;
  const deadline = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  // It may fail after the decision about another failure.
  run.input.catch(() => undefined);
  try {
    const options = { attempts, ...(await settings()) };
    const limitMs = options.holdMs + (options.graceMs ?? graceMsDefault);
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => {
        reject(new Error(`Countersign did not answer in ${String(limitMs)} ms`));
        deadline.abort();
      }, limitMs);
    });
    const input = parseHookInput(await Promise.race([run.input, late]));
    const call = agent.readCall(input);
    const decision = decide({ agent, options, marks, signal: deadline.signal }, call);
    const output = written(agent, await Promise.race([decision, late]));
    const stderr = warnOnce(marks, agent.failsOpen(input), call);
    return { stdout: output === null ? '' : JSON.stringify(output), stderr, exitCode: 0 };
  } catch (error) {
    return failure(agent, `The tool did not run: ${whyOf(error)}`);
  } finally {
    clearTimeout(timer);
  }
}

/** Reports a tool that ran. Never rejects, and never stops the agent: the tool has run. */
export async function afterTool(run: HookRun, settings: () => HookOptions | Promise<HookOptions>): Promise<HookAnswer> {
  const { agent } = run;
  run.input.catch(() => undefined);
  try {
    const options = { attempts, ...(await settings()) };
    const end = agent.readEnd(parseHookInput(await run.input));
    const note = await report(options, end, AbortSignal.timeout(graceMsDefault));
    const output = note === null ? null : agent.note(note);
    return { stdout: output === null ? '' : JSON.stringify(output), stderr: '', exitCode: 0 };
  } catch (error) {
    const stderr = `The result was not recorded, and its call will be unknown: ${whyOf(error)}`;
    return { stdout: '', stderr, exitCode: 1 };
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
  if (marks.has(key)) return '';
  marks.add(key);
  return `countersign: ${warning}`;
}
