import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { createClient, type Client as Ledger } from '@countersign/worker-sdk';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { freePort } from '../../../../test/ports.js';
import { cliCommand } from '../../../../test/process/cli/run-cli.js';
import { cleanUpAfterAll, onCleanup } from '../../../../test/process/harness/cleanup.js';
import type { Installation } from '../../../../test/process/harness/standalone.js';
import { eventually } from '../../../../test/process/harness/wait.js';
import {
  approvePending,
  connectClient,
  connectOverHttp,
  installLedger,
  pendingOf,
  referenceServer,
  startListening,
  textOf,
} from './mcp-client.js';

cleanUpAfterAll();

let place: Installation;
let ledger: Ledger;
let env: Readonly<Record<string, string>>;
beforeAll(async () => {
  ({ place, ledger, env } = await installLedger());
});

const echo = { name: 'echo', arguments: { message: 'hi' } };
const sample = { name: 'toggle-simulated-logging', arguments: {} };

describe('the gate over HTTP', () => {
  it('gives each client a server and a run of its own', async () => {
    const port = await freePort();
    const gate = ['mcp', '--listen', String(port), '--', ...referenceServer('everything')];
    const child = await startListening(cliCommand(gate), env, port);
    const [one, other] = await Promise.all([connectOverHttp(port), connectOverHttp(port)]);
    expect(textOf(await one.callTool(echo))).toContain('hi');
    const toggled = one.callTool(sample);
    await approvePending(ledger);
    expect(await toggled).not.toHaveProperty('isError', true);
    expect(textOf(await other.callTool(echo))).toContain('hi');
    const agent = createClient({ url: `http://127.0.0.1:${place.port}`, token: place.tokens.agent });
    const { calls } = await agent.listToolCalls({ toolName: 'echo' });
    expect(new Set(calls.map(({ runId }) => runId)).size).toBe(2);
    child.kill('SIGTERM');
    await once(child, 'exit');
  });

  it('refuses a page that reaches it under another name, an unknown session and another path', async () => {
    const port = await freePort();
    const gate = ['mcp', '--listen', String(port), '--', ...referenceServer('everything')];
    await startListening(cliCommand(gate), env, port);
    const statusOf = (path: string, headers: Readonly<Record<string, string>> = {}) =>
      new Promise<number | undefined>((resolve, reject) => {
        const json = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
        const sent = request({ host: '127.0.0.1', port, path, method: 'POST', headers: { ...json, ...headers } });
        sent.once('error', reject).once('response', (response) => {
          response.resume().once('end', () => {
            resolve(response.statusCode);
          });
        });
        sent.end(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }));
      });
    expect(await statusOf('/mcp', { host: 'evil.example' })).toBe(403);
    expect(await statusOf('/mcp', { 'mcp-session-id': 'unknown' })).toBe(404);
    expect(await statusOf('/mcp')).toBe(400);
    expect(await statusOf('/other')).toBe(404);
  });
});

describe('a request that the client drops', () => {
  it('is one call with the equal request after it: people decide once, and the tool runs once', async () => {
    const port = await freePort();
    const file = join(place.folder, 'dropped.txt');
    const server = [process.execPath, join(import.meta.dirname, 'counting-server.mjs'), file, 'slow'];
    await startListening(cliCommand(['mcp', '--listen', String(port), '--', ...server]), env, port);
    const transport = new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}/mcp`));
    const client = new Client({ name: 'spec', version: '1' });
    onCleanup(() => client.close());
    await client.connect(transport);
    const headers = {
      ...{ 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      'mcp-session-id': transport.sessionId ?? '',
    };
    let ids = 1_000;
    const pay = async (signal: AbortSignal) => {
      const params = { name: 'pay', arguments: { euros: 9 } };
      const body = JSON.stringify({ jsonrpc: '2.0', id: (ids += 1), method: 'tools/call', params });
      return (await fetch(`http://127.0.0.1:${port}/mcp`, { method: 'POST', headers, body, signal })).text();
    };
    /** Sends the call, and drops its request as soon as the condition is true. */
    const dropped = async (condition: () => Promise<unknown>) => {
      const dropping = new AbortController();
      const sent = pay(dropping.signal).catch(String);
      await condition();
      dropping.abort(new Error('dropped'));
      expect(await sent).toMatch(/dropped/);
      // The gate hears of it within this time.
      await new Promise((resolve) => setTimeout(resolve, 200));
    };
    await dropped(() => pendingOf(ledger, 'pay'));
    await dropped(async () => {
      await approvePending(ledger, 'pay');
      await eventually('the payment', () => existsSync(file) || undefined);
    });
    expect(await pay(AbortSignal.timeout(20_000))).toContain('paid 9');
    expect((await ledger.listApprovals({ state: 'pending' })).approvals).toEqual([]);
    expect(readFileSync(file, 'utf8')).toBe('paid 9\n');
  });
});

describe('a server that runs elsewhere', () => {
  it('is gated over stdin and stdout like one that the gate starts', async () => {
    const port = await freePort();
    await startListening([...referenceServer('everything'), 'streamableHttp'], { PORT: String(port) }, port);
    const { client } = await connectClient(cliCommand(['mcp', '--server', `http://127.0.0.1:${port}/mcp`]), env);
    expect(textOf(await client.callTool(echo))).toContain('hi');
    const toggled = client.callTool(sample);
    await approvePending(ledger);
    expect(await toggled).not.toHaveProperty('isError', true);
  });

  it('leaves a failed call when it cannot be reached: the tool did not run', async () => {
    const port = await freePort();
    const elsewhere = [...referenceServer('everything'), 'streamableHttp'];
    const server = await startListening(elsewhere, { PORT: String(port) }, port);
    const { client } = await connectClient(cliCommand(['mcp', '--server', `http://127.0.0.1:${port}/mcp`]), env);
    expect(textOf(await client.callTool(echo))).toContain('hi');
    server.kill('SIGKILL');
    await once(server, 'exit');
    // The first request may meet the end of a connection that was open.
    await client.listPrompts().catch(() => undefined);
    const result = await client.callTool(echo);
    expect(textOf(result)).toMatch(/the tool did not run: the MCP server cannot be reached/);
    expect(result).toMatchObject({ isError: true, _meta: { 'countersign/call': { status: 'failed' } } });
  });
});
