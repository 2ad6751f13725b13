import { fstatSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import type { AgentName, HookOptions, Marks } from '@countersign/coding-agents';
import type { GateMode } from '@countersign/worker-sdk';
import { CliError, usageError } from '../cli-error.js';
import { findWorkerConnection, type ConnectionOptions } from '../connection/connection.js';
import { holdMsOf } from '../duration-option.js';
import { exitCodes, type ExitCode } from '../exit-codes.js';
import type { Output } from '../invocation.js';
import { readBytes } from '../json-input.js';
import { leaseMsOf } from '../lease-option.js';
import { exitWhenWritten } from './hook-exit.js';
import { fileMarks } from './hook-marks.js';

/** The options of `countersign hook`. */
export interface HookCommandOptions extends ConnectionOptions {
  readonly post?: boolean;
  readonly gate: GateMode;
  readonly readOnly?: readonly string[];
  readonly ungated?: readonly string[];
  readonly hold?: string;
  readonly lease: string;
  readonly agent?: string;
  readonly defer?: boolean;
}

/**
 * The largest input before a tool, whose arguments have at most 256 KiB, and after it. Attack: to parse hundreds of megabytes
 * keeps the process from its deadline, and then ends it without the exit code that blocks the tool.
 */
const callBytesMax = 2 * 1024 * 1024;
const endBytesMax = 64 * 1024 * 1024;

/** `countersign hook <agent>`: one decision, for the process of a coding agent that has started this one. */
export async function hook({ terminal }: Output, name: string, options: HookCommandOptions): Promise<ExitCode> {
  const { afterTool, beforeTool, codingAgents } = await import('@countersign/coding-agents');
  const isAgentName = (text: string): text is AgentName => Object.hasOwn(codingAgents, text);
  if (!isAgentName(name))
    throw usageError(`There is no coding agent "${name}". Choose from ${Object.keys(codingAgents).join(', ')}.`);
  const { stdin, stdout, stderr, env, interrupted } = terminal;
  // Without a reader a denial is lost, and agents take silence with 0 for no opinion.
  stdout.prependListener('error', () => process.exit(exitCodes.unexpected));
  if (options.post !== true && isNowhere(stdout))
    throw usageError('A hook decides on stdout, but no process reads its stdout.');
  const agent = codingAgents[name];
  const { marks, writeMarks } = laterMarks(fileMarks());
  const run = {
    agent,
    input: readBytes(stdin, options.post === true ? endBytesMax : callBytesMax),
    marks,
    interrupted,
  };
  const settings = (): Promise<HookOptions> => hookOptions(name, agent.holdMs, options, env).catch(inOneText);
  const answer = await (options.post === true ? afterTool(run, settings) : beforeTool(run, settings));
  if (answer.stdout !== '') stdout.write(`${answer.stdout}\n`);
  writeMarks();
  if (answer.stderr !== '') stderr.write(`${answer.stderr}\n`);
  return exitWhenWritten(terminal, answer.exitCode);
}

/** Returns whether the stream is a device that is no terminal. Node puts the null device in the place of a closed stdout. */
function isNowhere(stdout: NodeJS.WriteStream & { readonly fd?: number }): boolean {
  return stdout.fd !== undefined && !stdout.isTTY && fstatSync(stdout.fd).isCharacterDevice();
}

/** Marks that are written later: a file system that hangs must not keep the decision back. */
function laterMarks(files: Marks): { readonly marks: Marks; readonly writeMarks: () => void } {
  const later = new Map<string, string>();
  return {
    marks: { get: (key) => later.get(key) ?? files.get(key), set: (key, text) => later.set(key, text) },
    writeMarks: () => {
      for (const [key, text] of later) files.set(key, text);
    },
  };
}

async function hookOptions(
  name: AgentName,
  agentHoldMs: number,
  options: HookCommandOptions,
  env: Output['terminal']['env'],
): Promise<HookOptions> {
  const { gate, readOnly = [], ungated = [], hold, lease, agent = name, defer = false } = options;
  if (defer && name !== 'claude-code') throw usageError('--defer is for claude-code alone.');
  const holdMs = hold === undefined ? agentHoldMs : holdMsOf(hold);
  return {
    ...findWorkerConnection(options, env),
    realpath,
    agentId: agent,
    gate,
    readOnly,
    ungated,
    holdMs: defer && hold === undefined ? 0 : holdMs,
    leaseMs: leaseMsOf(lease),
    defer,
  };
}

/** The agent shows one text, so the remedy goes into it. */
function inOneText(error: unknown): never {
  if (error instanceof CliError) throw new Error(`${error.message} ${error.remedy}`.trim());
  throw error;
}
