import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { timesOf, type UngatedTimes } from './ungated.ts';

const root = join(import.meta.dirname, '..');
const cli = join(root, 'apps', 'cli', 'bin', 'countersign.js');
const gateWith = (...options: readonly string[]) => [process.execPath, cli, 'mcp', ...options, '--'];
const server = [
  process.execPath,
  join(root, 'node_modules', '@modelcontextprotocol', 'server-everything', 'dist', 'index.js'),
];

/** Measures a call of a read-only tool over stdio. It waits for no person, and the ledger records it: request, claim and outcome. */
export async function measureMcpGate(
  { port, tokens }: { readonly port: number; readonly tokens: Readonly<Record<string, string>> },
  pairs: number,
): Promise<UngatedTimes> {
  const env = {
    COUNTERSIGN_URL: `http://127.0.0.1:${String(port)}`,
    COUNTERSIGN_TOKEN: tokens['agent'] ?? '',
    COUNTERSIGN_RESOLVER_TOKEN: tokens['worker'] ?? '',
  };
  return measureGate('MCP gate', gateWith(), env, pairs);
}

/** Measures a call of an ungated tool over stdio. No ledger is there: a call that asks it fails, and so does the benchmark. */
export async function measureUngatedMcp(pairs: number): Promise<readonly UngatedTimes[]> {
  const env = { COUNTERSIGN_URL: 'http://127.0.0.1:1', COUNTERSIGN_TOKEN: 'none', COUNTERSIGN_RESOLVER_TOKEN: 'none' };
  return [
    await measureGate('MCP gate, --ungated', gateWith('--ungated', 'echo'), env, pairs),
    await measureGate('MCP gate, --ungated-read-only', gateWith('--ungated-read-only'), env, pairs),
  ];
}

/** Measures calls of the MCP server alone and with a gate before it, in turn. */
async function measureGate(
  name: string,
  gate: readonly string[],
  env: Readonly<Record<string, string>>,
  pairs: number,
): Promise<UngatedTimes> {
  const [alone, behind] = await Promise.all([connect(server), connect([...gate, ...server], env)]);
  try {
    return await timesOf(name, { alone: () => echo(alone), behind: () => echo(behind) }, pairs);
  } finally {
    await Promise.all([alone.close(), behind.close()]);
  }
}

async function connect([command = '', ...args]: readonly string[], env = {}): Promise<Client> {
  const client = new Client({ name: 'bench', version: '1' });
  await client.connect(new StdioClientTransport({ command, args, env, stderr: 'ignore' }));
  return client;
}

async function echo(client: Client): Promise<string> {
  const { content } = await client.callTool({ name: 'echo', arguments: { message: 'done' } });
  const [{ text }] = content as [{ readonly text: string }];
  return text === 'Echo: done' ? 'done' : text;
}
