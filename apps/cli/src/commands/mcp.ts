import { randomUUID } from 'node:crypto';
import type * as McpGate from '@countersign/mcp-gate';
import type { Gate, GateFailure, GateOptions, Wire } from '@countersign/mcp-gate';
import type { GateMode } from '@countersign/worker-sdk';
import { findWorkerConnection, type ConnectionOptions } from '../connection/connection.js';
import { exitCodes, type ExitCode } from '../exit-codes.js';
import { localError, usageError } from '../cli-error.js';
import { holdMsOf } from '../duration-option.js';
import type { Output } from '../invocation.js';
import { leaseMsOf } from '../lease-option.js';

/** The options of `countersign mcp`. */
export interface McpOptions extends ConnectionOptions {
  readonly gate: GateMode;
  readonly ungated?: readonly string[];
  readonly ungatedReadOnly?: boolean;
  readonly toolApproval?: boolean;
  readonly hold: string;
  readonly lease: string;
  readonly agent: string;
  readonly runId?: string;
  readonly server?: string;
  readonly listen?: string;
}

/**
 * `countersign mcp`: the gate before a server that it starts (`-- <command>`) or that runs elsewhere (`--server`), for one
 * client on stdin and stdout or for clients of this machine over HTTP (`--listen`).
 */
export async function mcp(output: Output, command: readonly string[], options: McpOptions): Promise<ExitCode> {
  const { stdin, stdout, env, interrupted } = output.terminal;
  checkOptions(command, options);
  const mcpGate = await import('@countersign/mcp-gate');
  const openServer = serverOf(mcpGate, command, options, env);
  const { listen } = options;
  // A missing token is an error at the start, also when the first client comes later.
  const first = await gateOptions(command, options, env);
  const opening: Promise<Gate & { readonly url?: string }> =
    listen === undefined
      ? mcpGate.openStdioGate(stdin, stdout, openServer(), first, output.note)
      : mcpGate.openHttpGate({
          port: portOf(listen),
          openServer: () => withRemedyAtStart(openServer(), options),
          optionsOf: () => gateOptions(command, options, env),
        });
  const gate = await opening.catch(notStarted(options));
  if (gate.url !== undefined) output.note(`The gate listens at ${gate.url}.`);
  interrupted.addEventListener('abort', () => void gate.close());
  const failure = await gate.ended;
  if (interrupted.aborted) return exitCodes.interrupted;
  if (failure === undefined) return exitCodes.ok;
  output.note(wordsOf(failure, options));
  return exitCodes.unexpected;
}

function wordsOf({ side, error }: GateFailure, options: McpOptions): string {
  if (error === undefined) return `The MCP server has ended. ${serverRemedy(options)}`;
  return `The connection to the MCP ${side} ended: ${error.message}.`;
}

function checkOptions(command: readonly string[], { server, listen, runId }: McpOptions): void {
  if (command.length > 0 === (server !== undefined)) {
    throw usageError('name one MCP server', 'Give either `-- <command>`, which starts it, or `--server <url>`.');
  }
  if (listen !== undefined && runId !== undefined) {
    throw usageError(
      '--run-id is for one connection',
      'Leave it out with --listen: each connection is a run of its own.',
    );
  }
}

function serverOf(
  { commandServer, remoteServer }: typeof McpGate,
  [command = '', ...args]: readonly string[],
  { server }: McpOptions,
  env: Output['terminal']['env'],
): () => Wire {
  if (server === undefined) return () => commandServer({ command, args, env });
  const url = URL.parse(server);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw usageError(`--server ${server} is no address`, 'It begins with http:// or https://.');
  }
  return () => remoteServer(url, env['COUNTERSIGN_MCP_AUTHORIZATION']);
}

function portOf(listen: string): number {
  const port = Number(listen);
  if (Number.isInteger(port) && port > 0 && port < 65_536) return port;
  throw usageError(
    `--listen ${listen} is no port`,
    'It is a number up to 65535; the gate listens on this machine alone.',
  );
}

function notStarted(options: McpOptions): (error: unknown) => never {
  const remedy = options.listen === undefined ? serverRemedy(options) : 'Give another port to --listen.';
  return (error) => {
    throw localError('unexpected', 'mcp-server', `The gate did not start: ${causeOf(error)}.`, remedy);
  };
}

function serverRemedy({ server }: McpOptions): string {
  return server === undefined
    ? 'Check the command after `--`: it must start an MCP server on stdin and stdout.'
    : 'Check the address after --server.';
}

/** The client over HTTP gets the error of a server that does not start: then the gate has started long ago. */
function withRemedyAtStart(server: Wire, options: McpOptions): Wire {
  const start = server.start.bind(server);
  server.start = async () => {
    try {
      await start();
    } catch (error) {
      const cause = causeOf(error);
      throw new Error(`The MCP server did not start: ${cause}. ${serverRemedy(options)}`, { cause: error });
    }
  };
  return server;
}

function causeOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Without a run of the caller's each connection is one. */
export async function gateOptions(
  command: readonly string[],
  options: McpOptions,
  env: Output['terminal']['env'],
): Promise<GateOptions> {
  const { endpointOf } = await import('@countersign/mcp-gate');
  const { gate, ungated = [], ungatedReadOnly = false, toolApproval, hold, lease, agent, runId } = options;
  return {
    ...findWorkerConnection(options, env),
    agentId: agent,
    endpoint: endpointOf(options.server === undefined ? command : new URL(options.server)),
    runId: runId ?? `mcp-${randomUUID()}`,
    continuesRun: runId !== undefined,
    gate,
    ungated: { globs: ungated, readOnly: ungatedReadOnly },
    toolApproval,
    leaseMs: leaseMsOf(lease),
    holdMs: holdMsOf(hold),
  };
}
