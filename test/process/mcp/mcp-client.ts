import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import type { ClientCapabilities } from '@modelcontextprotocol/sdk/types.js';
import { cliCommand } from '../cli/run-cli.js';
import { createClient, type Client as Ledger } from '@countersign/worker-sdk';
import { onCleanup } from '../harness/cleanup.js';
import { install, type Installation } from '../harness/standalone.js';

const modules = join(import.meta.dirname, '..', '..', '..', 'node_modules', '@modelcontextprotocol');

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
  const transport = new StdioClientTransport({ command, args, env: { ...env }, stderr: 'inherit' });
  const client = new Client({ name: 'spec', version: '1' }, { capabilities });
  onCleanup(() => client.close());
  await client.connect(transport);
  return { client, pid: transport.pid ?? 0 };
}

/** The command of a gate before a server. */
export function gateBefore(server: readonly string[], options: readonly string[] = []): readonly string[] {
  return cliCommand(['mcp', ...options, '--', ...server]);
}

/** The texts of a result, as the model reads them. */
export function textOf(result: Readonly<Record<string, unknown>>): string {
  return (result['content'] as { readonly text?: string }[]).map(({ text }) => text ?? '').join('\n');
}
