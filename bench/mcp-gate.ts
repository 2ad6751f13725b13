import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { timesOf, type UngatedTimes } from './ungated.ts';

const root = join(import.meta.dirname, '..');
const gate = [process.execPath, join(root, 'apps', 'cli', 'bin', 'countersign.js'), 'mcp', '--'];
const server = [
  process.execPath,
  join(root, 'node_modules', '@modelcontextprotocol', 'server-everything', 'dist', 'index.js'),
];

/**
 * Measures a call of a read-only tool over stdio, of the MCP server alone and with the gate before it, in turn. Such a call waits for
 * no person, and the ledger records it: request, claim and outcome.
 */
export async function measureMcpGate(
  { port, tokens }: { readonly port: number; readonly tokens: Readonly<Record<string, string>> },
  pairs: number,
): Promise<UngatedTimes> {
  const env = {
    COUNTERSIGN_URL: `http://127.0.0.1:${String(port)}`,
    COUNTERSIGN_TOKEN: tokens['agent'] ?? '',
    COUNTERSIGN_RESOLVER_TOKEN: tokens['worker'] ?? '',
  };
  const [alone, behind] = await Promise.all([connect(server), connect([...gate, ...server], env)]);
  try {
    return await timesOf('MCP gate', { alone: () => echo(alone), behind: () => echo(behind) }, pairs);
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
