import { randomUUID } from 'node:crypto';
import type { GateOptions } from '@countersign/mcp-gate';
import type { GateMode } from '@countersign/worker-sdk';
import { findWorkerConnection, type ConnectionOptions } from '../connection/connection.js';
import { exitCodes, type ExitCode } from '../exit-codes.js';
import { localError } from '../cli-error.js';
import { durationMs, holdMsOf } from '../duration-option.js';
import type { Output } from '../invocation.js';

/** The options of `countersign mcp`. */
export interface McpOptions extends ConnectionOptions {
  readonly gate: GateMode;
  readonly hold: string;
  readonly lease: string;
  readonly agent: string;
  readonly runId?: string;
}

/** `countersign mcp -- <command>`: the gate between a client on stdin and stdout, and the server that it starts. */
export async function mcp(
  { terminal }: Output,
  [command = '', ...args]: readonly string[],
  options: McpOptions,
): Promise<ExitCode> {
  const { stdin, stdout, env, interrupted } = terminal;
  const { openStdioGate } = await import('@countersign/mcp-gate');
  const gate = await openStdioGate(stdin, stdout, { command, args, env }, await gateOptions(options, env)).catch(
    notStarted,
  );
  interrupted.addEventListener('abort', () => void gate.close());
  await gate.ended;
  return interrupted.aborted ? exitCodes.interrupted : exitCodes.ok;
}

function notStarted(error: unknown): never {
  const cause = error instanceof Error ? error.message : String(error);
  throw localError('unexpected', 'mcp-server', `The MCP server did not start: ${cause}.`, 'Check its command.');
}

/** Without a run of the caller's each connection is one. */
export async function gateOptions(options: McpOptions, env: Output['terminal']['env']): Promise<GateOptions> {
  const { gate, hold, lease, agent, runId } = options;
  return {
    ...findWorkerConnection(options, env),
    agentId: agent,
    runId: runId ?? `mcp-${randomUUID()}`,
    continuesRun: runId !== undefined,
    gate,
    leaseMs: await durationMs('--lease', lease),
    holdMs: await holdMsOf(hold),
  };
}
