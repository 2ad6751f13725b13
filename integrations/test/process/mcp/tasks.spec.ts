import { beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client as Ledger } from '@countersign/worker-sdk';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import {
  CallToolResultSchema,
  CreateTaskResultSchema,
  ElicitRequestSchema,
  type ElicitRequest,
} from '@modelcontextprotocol/sdk/types.js';
import { freePort } from '../../../../test/ports.js';
import { cliCommand } from '../../../../test/process/cli/run-cli.js';
import { cleanUpAfterAll } from '../../../../test/process/harness/cleanup.js';
import type { Installation } from '../../../../test/process/harness/standalone.js';
import {
  approvePending,
  connectClient,
  connectOverHttp,
  gateBefore,
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

const capabilities = { tasks: {}, elicitation: { form: {} } };
const countingServer = (file: string) => [process.execPath, join(import.meta.dirname, 'counting-server.mjs'), file];

async function begin(client: Client, name: string, args: object): Promise<string> {
  const params = { name, arguments: args, task: {} };
  return (await client.request({ method: 'tools/call', params }, CreateTaskResultSchema)).task.taskId;
}
const resultOf = (client: Client, taskId: string) =>
  client.experimental.tasks.getTaskResult(taskId, CallToolResultSchema);

describe('a task over stdin and stdout', () => {
  it('waits for a person, and is followed by the client like any task', async () => {
    const file = join(place.folder, 'stream.txt');
    const { client } = await connectClient(gateBefore(countingServer(file)), env, capabilities);
    await client.listTools();
    const statuses: string[] = [];
    for await (const message of client.experimental.tasks.callToolStream({ name: 'pay', arguments: { euros: 5 } })) {
      if (message.type === 'taskCreated') await approvePending(ledger, 'pay');
      if (message.type === 'taskStatus') statuses.push(message.task.status);
      if (message.type === 'result') expect(textOf(message.result)).toBe('paid 5');
    }
    expect(statuses.at(-1)).toBe('completed');
    expect(readFileSync(file, 'utf8')).toBe('paid 5\n');
  });

  it('runs a tool that the server runs only as a task, with the questions of the server', async () => {
    const { client } = await connectClient(gateBefore(referenceServer('everything')), env, capabilities);
    const asked: ElicitRequest['params'][] = [];
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
      asked.push(params);
      return { action: 'decline' };
    });
    const taskId = await begin(client, 'simulate-research-query', { topic: 'tides', ambiguous: true });
    await approvePending(ledger, 'simulate-research-query');
    expect(textOf(await resultOf(client, taskId))).toMatch(/Research Report: tides.*declined/s);
    expect(asked).toMatchObject([{ _meta: { 'io.modelcontextprotocol/related-task': { taskId } } }]);
    const { calls } = await ledger.listToolCalls({ toolName: 'simulate-research-query' });
    expect(calls).toMatchObject([{ state: 'succeeded', output: { content: [{ type: 'text' }] } }]);
  });

  it('survives a gate that is killed while people decide, and runs once', async () => {
    const file = join(place.folder, 'killed-while-waiting.txt');
    const killed = await connectClient(gateBefore(countingServer(file)), env, capabilities);
    const taskId = await begin(killed.client, 'pay', { euros: 6 });
    process.kill(killed.pid, 'SIGKILL');
    const { client } = await connectClient(gateBefore(countingServer(file)), env, capabilities);
    expect(await client.experimental.tasks.getTask(taskId)).toMatchObject({ taskId, status: 'working' });
    await approvePending(ledger, 'pay');
    expect(textOf(await resultOf(client, taskId))).toBe('paid 6');
    expect(readFileSync(file, 'utf8')).toBe('paid 6\n');
  });
});

describe('a gate before another server', () => {
  it('neither knows nor runs the calls of the first one, with the same token and run', async () => {
    const [sandbox, production] = [join(place.folder, 'sandbox.txt'), join(place.folder, 'production.txt')];
    const gate = (file: string) =>
      connectClient(gateBefore(countingServer(file), ['--hold', '0', '--run-id', 'shared']), env, capabilities);
    const first = await gate(sandbox);
    const taskId = await begin(first.client, 'pay', { euros: 8 });
    await approvePending(ledger, 'pay');
    expect(textOf(await resultOf(first.client, taskId))).toBe('paid 8');
    const pay = { name: 'pay', arguments: { euros: 9 } };
    expect(textOf(await first.client.callTool(pay))).toMatch(/^pending/);
    await approvePending(ledger, 'pay');

    const { client } = await gate(production);
    await expect(resultOf(client, taskId)).rejects.toMatchObject({ code: -32602 });
    expect((await client.experimental.tasks.listTasks()).tasks).toEqual([]);
    expect(textOf(await client.callTool(pay))).toMatch(/^pending/);
    const { approvalId, proposal } = await pendingOf(ledger, 'pay');
    await ledger.respond(approvalId, {
      decision: { type: 'deny' },
      reason: 'not here',
      proposalDigest: proposal.digest,
    });
    expect(textOf(await client.callTool(pay))).toMatch(/denied/);
    expect(textOf(await first.client.callTool(pay))).toBe('paid 9');
    expect([readFileSync(sandbox, 'utf8'), existsSync(production)]).toEqual(['paid 8\npaid 9\n', false]);
  });
});

describe('a task over HTTP', () => {
  it('belongs to its client, and survives a gate that is killed while people decide', async () => {
    const file = join(place.folder, 'over-http.txt');
    const port = await freePort();
    const gate = cliCommand(['mcp', '--listen', String(port), '--', ...countingServer(file)]);
    const child = await startListening(gate, env, port);
    const [owner, other] = await Promise.all([1, 2].map(() => connectOverHttp(port, capabilities)));
    const taskId = await begin(owner!, 'pay', { euros: 7 });
    const [callId = ''] = taskId.split('.');
    expect((await other!.experimental.tasks.listTasks()).tasks).toEqual([]);
    await expect(other!.experimental.tasks.getTask(callId)).rejects.toMatchObject({ code: -32602 });
    const forged = `${callId}.${'A'.repeat(43)}`;
    await expect(other!.experimental.tasks.cancelTask(forged)).rejects.toMatchObject({ code: -32602 });
    child.kill('SIGKILL');
    await once(child, 'exit');

    await startListening(gate, env, port);
    const client = await connectOverHttp(port, capabilities);
    const result = resultOf(client, taskId);
    await approvePending(ledger, 'pay');
    expect(textOf(await result)).toBe('paid 7');
    expect(await client.experimental.tasks.getTask(taskId)).toMatchObject({ status: 'completed' });
    expect(readFileSync(file, 'utf8')).toBe('paid 7\n');
  });
});
