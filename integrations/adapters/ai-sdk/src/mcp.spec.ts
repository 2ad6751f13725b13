// A real MCP server through `@ai-sdk/mcp`, against a real Countersign: a policy can use what the server says about its tools.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createMCPClient, type MCPClient } from '@ai-sdk/mcp';
import { StdioMCPTransport } from '@ai-sdk/mcp/mcp-stdio';
import { startKitServer, type KitServer } from '@countersign/conformance';
import { createClient, type Client } from '@countersign/worker-sdk';
import { createFakeCountersign } from '@countersign/worker-sdk/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { dynamicTool, generateText, jsonSchema, type ModelMessage } from 'ai';
import { randomUUID } from 'node:crypto';
import { scriptedModel } from '../conformance/scripted-model.js';
import { gateTools } from './gate-tools.js';

const root = join(import.meta.dirname, '..', '..', '..', '..');
const folder = mkdtempSync(join(tmpdir(), 'countersign-ai-sdk-mcp-'));
const memory = join(folder, 'memory.jsonl');
const user: ModelMessage = { role: 'user', content: 'go' };
const entities = { entities: [{ name: 'Ada', entityType: 'person', observations: [] }] };

let server: KitServer;
let approver: Client;
let mcp: MCPClient;

beforeAll(async () => {
  const module = join(root, 'node_modules', '@modelcontextprotocol', 'server-memory', 'dist', 'index.js');
  const transport = new StdioMCPTransport({
    command: process.execPath,
    args: [module],
    env: { MEMORY_FILE_PATH: memory },
    stderr: 'ignore',
  });
  [server, mcp] = await Promise.all([
    startKitServer(join(root, 'apps', 'cli', 'bin', 'countersign.js')),
    createMCPClient({ transport }),
  ]);
  approver = createClient({ url: server.url, token: server.approverToken });
});
afterAll(async () => {
  await mcp.close();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** The hints in the recorded request of a call. */
async function recordedHints(callId: string): Promise<unknown> {
  const { url, approverToken } = server;
  const response = await fetch(`${url}/v1/audit/tool-calls/${callId}/events`, {
    headers: { authorization: `Bearer ${approverToken}` },
  });
  const { events } = (await response.json()) as { events: readonly { type: string; data: { hints?: unknown } }[] };
  return events.find(({ type }) => type === 'ToolCallRequested')?.data.hints;
}

describe('a gated tool of an MCP server', () => {
  it('passes the annotations of the server on as hints, and runs once after the approval', async () => {
    const { url, agentToken: token, workerToken: resolverToken } = server;
    const gate = gateTools({ url, token, resolverToken, agentId: 'agent' }, await mcp.tools(), {
      read_graph: true,
      create_entities: true,
      delete_entities: true,
    });
    const runId = randomUUID();
    const run = gate.run(runId);
    const script = scriptedModel([
      [
        { toolCallId: 'c1', toolName: 'read_graph', arguments: {} },
        { toolCallId: 'c2', toolName: 'create_entities', arguments: entities },
        { toolCallId: 'c3', toolName: 'delete_entities', arguments: { entityNames: ['Ada'] } },
      ],
    ]);
    const generate = (messages: ModelMessage[]) => generateText({ model: script.model, ...run, messages });
    const paused = [user, ...(await generate([user])).responseMessages];
    const { approvals } = await approver.listApprovals({ state: 'pending', runId });
    const hints = await Promise.all(
      approvals.map(async ({ toolCallId, callId }) => [toolCallId, await recordedHints(callId)] as const),
    );
    expect(Object.fromEntries(hints)).toMatchObject({
      c1: { readOnlyHint: true },
      c2: { readOnlyHint: false, destructiveHint: false },
      c3: { readOnlyHint: false, destructiveHint: true },
    });
    for (const { approvalId, proposal, toolCallId } of approvals) {
      const type = toolCallId === 'c2' ? 'approve' : 'deny';
      await approver.respond(approvalId, { decision: { type }, proposalDigest: proposal.digest });
    }
    await generate((await run.resume(paused)).messages);
    await gate.close();
    expect(script.told()['c2']).toContain('Ada');
    expect(readFileSync(memory, 'utf8').trim().split('\n')).toHaveLength(1);
  });
});

describe('the annotations of a tool', () => {
  interface Body {
    readonly calls?: readonly { readonly hints?: unknown }[];
  }
  it.each<[string, NonNullable<Parameters<typeof dynamicTool>[0]['metadata']>, unknown]>([
    ['are left out when there are none', { clientName: 'c' }, undefined],
    ['are left out when they are no object', { annotations: 'none' }, undefined],
    [
      'lose each member that the ledger would refuse',
      { annotations: { title: 'x'.repeat(257), readOnlyHint: 'yes', idempotentHint: true, vendorHint: true } },
      { idempotentHint: true },
    ],
  ])('%s', async (_, metadata, expected) => {
    const countersign = createFakeCountersign();
    const requested: { readonly hints?: unknown }[] = [];
    const noted: typeof fetch = (input, init) => {
      if (init?.method === 'POST') requested.push(...((JSON.parse(init.body as string) as Body).calls ?? []));
      return countersign.fetch(input, init);
    };
    const inputSchema = jsonSchema({ type: 'object', properties: {}, additionalProperties: false });
    const tools = {
      read: dynamicTool({ inputSchema, execute: () => 1, metadata }),
    };
    const gate = gateTools({ url: 'http://fake.test', token: 't', agentId: 'a', fetch: noted }, tools, { read: true });
    const { model } = scriptedModel([[{ toolCallId: 'c1', toolName: 'read', arguments: {} }]]);
    await generateText({ model, ...gate.run('run'), messages: [user] });
    await gate.close();
    expect(requested).toHaveLength(1);
    expect(requested[0]?.hints).toEqual(expected);
  });
});
