import { once } from 'node:events';
import { request } from 'node:http';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { createClient, type Client as Ledger } from '@countersign/worker-sdk';
import { freePort } from '../../ports.js';
import { cliCommand } from '../cli/run-cli.js';
import { cleanUpAfterAll } from '../harness/cleanup.js';
import type { Installation } from '../harness/standalone.js';
import {
  approvePending,
  connectClient,
  connectOverHttp,
  installLedger,
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
});
