import { spawn } from 'node:child_process';
import { realpath } from 'node:fs/promises';
import { eachLine } from '@countersign/http-client';
import type { GateMode } from '@countersign/worker-sdk';
import { localError } from '../cli-error.js';
import { findWorkerConnection, type ConnectionOptions } from '../connection/connection.js';
import { exitCodes, type ExitCode } from '../exit-codes.js';
import type { Output } from '../invocation.js';
import { leaseMsOf } from '../lease-option.js';

/** The options of `countersign acp`. */
export interface AcpOptions extends ConnectionOptions {
  readonly gate: GateMode;
  readonly readOnly?: readonly string[];
  readonly lease: string;
  readonly agent: string;
}

/** An editor waits for its agent without limit, so a server that restarts is waited for about half a minute. */
const attempts = 9;

/** `countersign acp -- <command>`: the bridge between an editor on stdin and stdout, and the agent that it starts. */
export async function acp(
  { terminal }: Output,
  [command = '', ...args]: readonly string[],
  options: AcpOptions,
): Promise<ExitCode> {
  const { stdin, stdout, stderr, env, interrupted } = terminal;
  const settings = {
    ...findWorkerConnection(options, env),
    attempts,
    realpath,
    agentId: options.agent,
    gate: options.gate,
    // The protocol can carry neither other arguments nor an answer.
    allowedDecisions: ['approve', 'deny'] as const,
    readOnly: options.readOnly ?? [],
    ungated: [],
    holdMs: Infinity,
    leaseMs: leaseMsOf(options.lease),
    defer: false,
  };
  const { openAcpBridge } = await import('@countersign/coding-agents');
  const { childEnvironment } = await import('@countersign/worker-sdk');
  const agent = spawn(command, args, { env: childEnvironment(env), stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = new Promise<number | null>((resolve, reject) => {
    agent.once('close', resolve);
    agent.once('error', reject);
  });
  const bridge = openAcpBridge(settings, {
    toAgent: (line) => agent.stdin.write(`${line}\n`),
    toEditor: (line) => stdout.write(`${line}\n`),
    warn: (text) => stderr.write(`countersign: ${text}\n`),
  });
  agent.stdin.on('error', () => undefined);
  eachLine(agent.stdout, bridge.fromAgent);
  eachLine(stdin, bridge.fromEditor);
  stdin.once('end', () => agent.stdin.end());
  interrupted.addEventListener('abort', () => agent.kill());
  const code = await ended.catch(notStarted);
  await bridge.close();
  stdin.destroy();
  if (interrupted.aborted) return exitCodes.interrupted;
  return code === 0 ? exitCodes.ok : exitCodes.unexpected;
}

function notStarted(error: unknown): never {
  const cause = error instanceof Error ? error.message : String(error);
  throw localError('unexpected', 'acp-agent', `The agent did not start: ${cause}.`, 'Check its command.');
}
