// The agent that the conformance kit tries: a client of MCP, the gate, and a server with the tools, in one process.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { connectKit, type ScriptedCall } from '@countersign/conformance';
import { openGate } from '@countersign/mcp-gate';
import { z } from 'zod';

const { start, workerOptions, body, end } = await connectKit();

/** The inner server knows no ids of calls. */
function createServer(): McpServer {
  const server = new McpServer({ name: 'conformance', version: '1' });
  const define = (name: string, inputSchema: z.ZodObject): void =>
    void server.registerTool(name, { inputSchema }, async (args: Record<string, unknown>) => ({
      content: [{ type: 'text', text: JSON.stringify(await body(name, null, args as ScriptedCall['arguments'])) }],
    }));
  define('refund', z.strictObject({ amount: z.int() }));
  define('lookup', z.strictObject({ id: z.string() }));
  return server;
}

/** Connects the client to the server through the gate. */
async function connect(): Promise<Client> {
  const [clientSide, gateToClient] = InMemoryTransport.createLinkedPair();
  const [gateToServer, serverSide] = InMemoryTransport.createLinkedPair();
  await createServer().connect(serverSide);
  await openGate(gateToClient, gateToServer, {
    ...workerOptions,
    resolverToken: start.workerToken,
    runId: start.runId,
    endpoint: 'conformance',
    continuesRun: true,
    gate: 'all',
    ungated: { globs: ['lookup'], readOnly: false },
    holdMs: 0,
  });
  const client = new Client({ name: 'conformance', version: '1' });
  await client.connect(clientSide);
  return client;
}

/** The text of a result; undefined while the call waits for people. */
async function resultOf(client: Client, call: ScriptedCall): Promise<string | undefined> {
  const { toolName: name, toolCallId, arguments: args } = call;
  const _meta = { 'claudecode/toolUseId': toolCallId };
  const { content, _meta: meta } = (await client.callTool({ name, arguments: args, _meta })) as CallToolResult;
  const about = meta?.['countersign/call'] as { readonly status?: string } | undefined;
  if (about?.status === 'pending') return undefined;
  // A gate that was killed ran it: until its lease ends.
  if (about?.status === 'executing') return resultOf(client, call);
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('\n');
}

/**
 * Makes the calls of each turn together, from the beginning, until one waits. MCP keeps no state between processes: the client
 * keeps the results, and makes only the calls behind the gate again.
 */
async function answer() {
  const client = await connect();
  const told = JSON.parse(start.state ?? '{}') as Record<string, string>;
  const make = async (call: ScriptedCall) =>
    (call.toolName === 'lookup' ? told[call.toolCallId] : undefined) ?? resultOf(client, call);
  for (const turn of start.turns) {
    const results = await Promise.all(turn.map(make));
    turn.forEach(({ toolCallId }, index) => {
      const result = results[index];
      if (result !== undefined) told[toolCallId] = result;
    });
    if (results.includes(undefined)) return { event: 'paused', state: JSON.stringify(told) } as const;
  }
  return { event: 'finished', told, final: 'done' } as const;
}

await end(answer);
