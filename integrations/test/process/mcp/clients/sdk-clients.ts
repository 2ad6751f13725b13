import { Client as Client2, type VersionNegotiationMode } from '@modelcontextprotocol/client';
import { StdioClientTransport as Stdio2 } from '@modelcontextprotocol/client/stdio';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as Stdio1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { textOf } from '../mcp-client.js';
import type { Connect, TriedClient } from './tried-client.js';

const identity = { name: 'spec', version: '1' };

/** The client of version 1 of the TypeScript SDK. */
export const connectSdk1: Connect = async ({ command, args, env }) => {
  const client = new Client1(identity);
  await client.connect(new Stdio1({ command, args: [...args], env, stderr: 'inherit' }));
  return triedClient(client);
};

/** The client of version 2 of the TypeScript SDK. */
export function connectSdk2(mode: VersionNegotiationMode): Connect {
  return async ({ command, args, env }) => {
    const client = new Client2(identity, { versionNegotiation: { mode } });
    await client.connect(new Stdio2({ command, args: [...args], env, stderr: 'inherit' }));
    return triedClient(client);
  };
}

function triedClient(client: Client1 | Client2): TriedClient {
  return {
    list: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, args) => textOf(await client.callTool({ name, arguments: args })),
    close: () => client.close(),
  };
}
