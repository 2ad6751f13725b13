import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { ClientCapabilities } from '@modelcontextprotocol/sdk/types.js';
import { cliCommand } from '../../../../test/process/cli/run-cli.js';
import { createClient, type ApprovalView, type Client as Ledger } from '@countersign/worker-sdk';
import { onCleanup } from '../../../../test/process/harness/cleanup.js';
import { inheritedEnvironment } from '../../../../test/process/harness/environment.js';
import { install, type Installation } from '../../../../test/process/harness/standalone.js';
import { eventually } from '../../../../test/process/harness/wait.js';

const modules = join(import.meta.dirname, '..', '..', '..', '..', 'node_modules', '@modelcontextprotocol');

/** The command of one of the reference servers. */
export function referenceServer(name: 'everything' | 'filesystem' | 'memory'): readonly string[] {
  return [process.execPath, join(modules, `server-${name}`, 'dist', 'index.js')];
}

/** A standalone server for the gates of a spec. */
export interface LedgerSetup {
  readonly place: Installation;
  /** The client of its person. */
  readonly ledger: Ledger;
  /** The environment of a gate before it. */
  readonly env: Readonly<Record<string, string>>;
}

/** Starts that server. It ends after the spec. */
export async function installLedger(): Promise<LedgerSetup> {
  const place = await install();
  const ledger = createClient({ url: `http://127.0.0.1:${place.port}`, token: place.tokens.me });
  return { place, ledger, env: { COUNTERSIGN_PORT: String(place.port), COUNTERSIGN_DATA: place.dataFolder } };
}

/** A client of the SDK over a server process. */
export interface ConnectedClient {
  readonly client: Client;
  readonly pid: number;
}

/** Connects the official client to a command. Both end after the test. */
export async function connectClient(
  [command = '', ...args]: readonly string[],
  env: Readonly<Record<string, string>> = {},
  capabilities: ClientCapabilities = {},
): Promise<ConnectedClient> {
  const transport = new StdioClientTransport({
    command,
    args,
    env: { ...inheritedEnvironment(), ...env },
    stderr: 'inherit',
  });
  const client = new Client({ name: 'spec', version: '1' }, { capabilities });
  onCleanup(() => client.close());
  await client.connect(transport);
  return { client, pid: transport.pid ?? 0 };
}

/** Starts a command that listens for MCP clients on a port, and waits until it does. It ends after the test. */
export async function startListening(
  [command = '', ...args]: readonly string[],
  env: Readonly<Record<string, string>>,
  port: number,
): Promise<ChildProcess> {
  const all = { ...inheritedEnvironment(), ...env };
  const child = spawn(command, args, { env: all, stdio: ['ignore', 'ignore', 'pipe'] });
  onCleanup(async () => {
    if (child.exitCode === null && child.kill('SIGKILL')) await once(child, 'exit');
  });
  await eventually(`an answer on port ${port}`, () =>
    fetch(`http://127.0.0.1:${port}/mcp`).then(
      () => true,
      () => undefined,
    ),
  );
  return child;
}

/** Connects the official client to a port of this machine. It ends after the test. */
export async function connectOverHttp(port: number, capabilities: ClientCapabilities = {}): Promise<Client> {
  const client = new Client({ name: 'spec', version: '1' }, { capabilities });
  onCleanup(() => client.close());
  await client.connect(new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}/mcp`)));
  return client;
}

/** The pending approval of a tool, as soon as there is one. */
export function pendingOf(ledger: Ledger, toolName?: string): Promise<ApprovalView> {
  return eventually(`a pending approval of ${toolName ?? 'any tool'}`, async () => {
    const { approvals } = await ledger.listApprovals({ state: 'pending', toolName });
    return approvals[0];
  });
}

/** Approves it as the person of the ledger. */
export async function approvePending(ledger: Ledger, toolName?: string): Promise<void> {
  const { approvalId, proposal } = await pendingOf(ledger, toolName);
  const shown = { proposalDigest: proposal.digest };
  await ledger.respond(approvalId, { decision: { type: 'approve' }, reason: 'seen', ...shown });
}

/** The command of a gate before a server. */
export function gateBefore(server: readonly string[], options: readonly string[] = []): readonly string[] {
  return cliCommand(['mcp', ...options, '--', ...server]);
}

/** The texts of a result, as the model reads them. */
export function textOf(result: Readonly<Record<string, unknown>>): string {
  return (result['content'] as { readonly text?: string }[]).map(({ text }) => text ?? '').join('\n');
}
