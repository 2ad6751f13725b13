import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { connectAiSdk, connectLangchain, connectOpenAiAgents } from './framework-clients.js';
import { pythonRequirements, type PythonClients } from './python-clients.js';
import { connectSdk1, connectSdk2 } from './sdk-clients.js';
import type { Connect } from './tried-client.js';

/** A client of other people that is tried at the gate. */
export interface ClientUnderTest {
  readonly name: string;
  readonly package: string;
  /** The version of MCP that it and the gate agree on, before a server on version 1 of the TypeScript SDK, and on version 2. */
  readonly agrees: Readonly<Record<'1' | '2', string>>;
  readonly isPython?: true;
  /** The server begins to read so much later. */
  readonly startsAfterMs?: number;
  readonly connect: (python: PythonClients | undefined) => Connect;
}

const sessions = { '1': '2025-11-25', '2': '2025-11-25' } as const;
const later = { '1': '2026-07-28', '2': '2026-07-28' } as const;
const inPython =
  (library: string): ClientUnderTest['connect'] =>
  (python) => {
    if (python === undefined) throw new Error('no client in Python is installed');
    return python.connect(library);
  };
const sdk2 = '@modelcontextprotocol/client';

/** The clients, with the version that each gets. The spec compares it exactly, and docs/mcp.md has the table of them. */
export const clients: readonly ClientUnderTest[] = [
  {
    name: 'TypeScript SDK 1',
    package: '@modelcontextprotocol/sdk',
    agrees: sessions,
    connect: () => connectSdk1,
  },
  {
    name: 'TypeScript SDK 2, `legacy` (its default)',
    package: sdk2,
    agrees: sessions,
    connect: () => connectSdk2('legacy'),
  },
  { name: 'TypeScript SDK 2, `auto`', package: sdk2, agrees: later, connect: () => connectSdk2('auto') },
  {
    name: 'TypeScript SDK 2, `pin`',
    package: sdk2,
    agrees: later,
    connect: () => connectSdk2({ pin: '2026-07-28' }),
  },
  { name: 'Python SDK', package: 'mcp', agrees: later, isPython: true, connect: inPython('mcp') },
  { name: 'FastMCP', package: 'fastmcp', agrees: later, isPython: true, connect: inPython('fastmcp') },
  {
    name: 'AI SDK',
    package: '@ai-sdk/mcp',
    agrees: sessions,
    // It asks for a later version for one second. Then it begins a session on the same connection.
    startsAfterMs: 1_500,
    connect: () => connectAiSdk,
  },
  { name: 'OpenAI Agents SDK', package: '@openai/agents', agrees: later, connect: () => connectOpenAiAgents },
  { name: 'LangChain', package: '@langchain/mcp-adapters', agrees: sessions, connect: () => connectLangchain },
];

/** Returns the name of an agent that only this client has. */
export function agentOf({ name }: ClientUnderTest, way: string): string {
  return `${name} ${way}`.replaceAll(/[^\w]+/g, '-');
}

const integrations = join(import.meta.dirname, '..', '..', '..', '..');

/** Returns the version of a package that the tests install. */
export function installedVersion(name: string): string {
  const pinned = new RegExp(`^${name}==(?<version>.+)$`, 'm').exec(readFileSync(pythonRequirements, 'utf8'));
  if (pinned?.groups?.['version'] !== undefined) return pinned.groups['version'];
  const folder = name.startsWith('@modelcontextprotocol/') ? join(integrations, '..') : join(integrations, 'adapters');
  const manifest = readFileSync(join(folder, 'node_modules', name, 'package.json'), 'utf8');
  return (JSON.parse(manifest) as { readonly version: string }).version;
}

/** Returns the rows of the table of clients in docs/mcp.md. */
export function clientRows(): readonly string[] {
  return clients.map(
    ({ name, package: id, agrees }) =>
      `| ${name} | \`${id}\` ${installedVersion(id)} | ${agrees['1']} | ${agrees['2']} |`,
  );
}
