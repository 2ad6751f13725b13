import type { AgentName, HookOptions } from '@countersign/coding-agents';
import type { GateMode } from '@countersign/worker-sdk';
import { CliError, usageError } from '../cli-error.js';
import { findWorkerConnection, type ConnectionOptions } from '../connection/connection.js';
import { durationMs, holdMsOf } from '../duration-option.js';
import { exitCodes, type ExitCode } from '../exit-codes.js';
import type { Output } from '../invocation.js';
import { readAll } from '../json-input.js';
import { fileMarks } from './hook-marks.js';

/** The options of `countersign hook`. */
export interface HookCommandOptions extends ConnectionOptions {
  readonly post?: boolean;
  readonly gate: GateMode;
  readonly ungated?: readonly string[];
  readonly hold?: string;
  readonly lease: string;
  readonly agent?: string;
  readonly defer?: boolean;
}

/** `countersign hook <agent>`: one decision, for the process of a coding agent that has started this one. */
export async function hook({ terminal }: Output, name: string, options: HookCommandOptions): Promise<ExitCode> {
  const { afterTool, beforeTool, codingAgents } = await import('@countersign/coding-agents');
  const isAgentName = (text: string): text is AgentName => Object.hasOwn(codingAgents, text);
  if (!isAgentName(name)) throw usageError(`There is no coding agent "${name}".`);
  const { stdin, stdout, stderr, env, interrupted } = terminal;
  // Without a reader a denial is lost, and agents take silence with 0 for no opinion.
  stdout.prependListener('error', () => process.exit(exitCodes.unexpected));
  const agent = codingAgents[name];
  const run = { agent, input: readAll(stdin), marks: fileMarks(), interrupted };
  const settings = (): Promise<HookOptions> => hookOptions(name, agent.holdMs, options, env).catch(inOneText);
  const answer = await (options.post === true ? afterTool(run, settings) : beforeTool(run, settings));
  if (answer.stdout !== '') stdout.write(`${answer.stdout}\n`);
  if (answer.stderr !== '') stderr.write(`${answer.stderr}\n`);
  stdin.destroy();
  return answer.exitCode;
}

async function hookOptions(
  name: AgentName,
  agentHoldMs: number,
  options: HookCommandOptions,
  env: Output['terminal']['env'],
): Promise<HookOptions> {
  const { gate, ungated = [], hold, lease, agent = name, defer = false } = options;
  if (defer && name !== 'claude-code') throw usageError('--defer is for claude-code alone.');
  const holdMs = hold === undefined ? agentHoldMs : await holdMsOf(hold);
  return {
    ...findWorkerConnection(options, env),
    agentId: agent,
    gate,
    ungated,
    holdMs: defer && hold === undefined ? 0 : holdMs,
    leaseMs: await durationMs('--lease', lease),
    defer,
  };
}

/** The agent shows one text, so the remedy goes into it. */
function inOneText(error: unknown): never {
  if (error instanceof CliError) throw new Error(`${error.message} ${error.remedy}`.trim());
  throw error;
}
