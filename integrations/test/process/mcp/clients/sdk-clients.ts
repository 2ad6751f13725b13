import {
  Client as Client2,
  StreamableHTTPClientTransport as Http2,
  type VersionNegotiationMode,
} from '@modelcontextprotocol/client';
import { StdioClientTransport as Stdio2 } from '@modelcontextprotocol/client/stdio';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as Stdio1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as Http1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { textOf } from '../mcp-client.js';
import type { Connect, Launch, TriedClient } from './tried-client.js';

const identity = { name: 'spec', version: '1' };

/** The client of version 1 of the TypeScript SDK. */
export const connectSdk1: Connect = async (place) => {
  const client = new Client1(identity);
  await client.connect('url' in place ? new Http1(new URL(place.url)) : new Stdio1(stdio(place)));
  return triedClient(client);
};

/** The client of version 2 of the TypeScript SDK. */
export function connectSdk2(mode: VersionNegotiationMode): Connect {
  return async (place) => {
    const client = new Client2(identity, { versionNegotiation: { mode } });
    await client.connect('url' in place ? new Http2(new URL(place.url)) : new Stdio2(stdio(place)));
    return triedClient(client);
  };
}

function stdio({ command, args, env }: Launch) {
  return { command, args: [...args], env, stderr: 'inherit' as const };
}

function triedClient(client: Client1 | Client2): TriedClient {
  return {
    list: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, args) => textOf(await client.callTool({ name, arguments: args })),
    close: () => client.close(),
  };
}
