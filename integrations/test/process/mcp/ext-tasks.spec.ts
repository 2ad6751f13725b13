// The official client of the tasks extension before a gate.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Client as Ledger } from '@countersign/worker-sdk';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import {
  createTaskSessionFromClient,
  resultFromTaskOutcome,
  TaskCancelledError,
  type RawClientDispatch,
  type WithTasksOptions,
} from '@modelcontextprotocol/ext-tasks/client';
import type { JsonValue } from '@modelcontextprotocol/ext-tasks/core';
import { cleanUpAfterAll, onCleanup } from '../../../../test/process/harness/cleanup.js';
import { inheritedEnvironment } from '../../../../test/process/harness/environment.js';
import type { Installation } from '../../../../test/process/harness/standalone.js';
import { approvePending, gateBefore, installLedger, pendingOf } from './mcp-client.js';

cleanUpAfterAll();

let place: Installation;
let ledger: Ledger;
let env: Readonly<Record<string, string>>;
beforeAll(async () => {
  ({ place, ledger, env } = await installLedger());
});

const server = join(import.meta.dirname, 'tasks-server', 'main.ts');
const version = '2026-07-28';
const clientInfo = { name: 'spec', version: '1' };
const capabilities = { elicitation: { form: {} } };

/** The requests that the client of the SDK does not know, over its transport. */
function dispatcherOf(transport: StdioClientTransport): RawClientDispatch {
  const waiting = new Map<unknown, (reply: Awaited<ReturnType<RawClientDispatch>>) => void>();
  const handOn = transport.onmessage;
  transport.onmessage = (message, ...more) => {
    const id = 'id' in message ? message.id : undefined;
    const settle = waiting.get(id);
    if (settle === undefined) return handOn?.(message, ...more);
    waiting.delete(id);
    if ('result' in message) settle({ kind: 'result', result: message.result as JsonValue });
    else if ('error' in message) settle({ kind: 'error', error: message.error as never });
  };
  let count = 0;
  return async (request) => {
    const id = `task-${String((count += 1))}`;
    const reply = new Promise<Awaited<ReturnType<RawClientDispatch>>>((resolve) => waiting.set(id, resolve));
    await transport.send({ jsonrpc: '2.0', id, ...(request as { method: string }) });
    return reply;
  };
}

/** A session before a gate with a server that makes a task of each call of its writing tools. */
async function connect(file: string, options: WithTasksOptions = {}) {
  const [command = '', ...args] = gateBefore([process.execPath, server, '--stdio', file]);
  const all = { ...inheritedEnvironment(), ...env };
  const transport = new StdioClientTransport({ command, args, env: all, stderr: 'inherit' });
  const client = new Client(clientInfo, { capabilities, versionNegotiation: { mode: { pin: version } } });
  onCleanup(() => client.close());
  await client.connect(transport);
  const session = createTaskSessionFromClient(client, {
    ...options,
    endpointId: 'gate',
    rawDispatch: dispatcherOf(transport),
    v2RequestFraming: { protocolVersion: version, clientInfo, clientCapabilities: capabilities },
  });
  return { client, session };
}

describe('the official client of the tasks extension', () => {
  it('lists the tools, waits for a person, and returns the result of the tool, which ran once', async () => {
    const file = join(place.folder, 'official.txt');
    const { client, session } = await connect(file);
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('pay');
    expect(session.capabilities).toMatchObject({ execution: true, cancellation: true, inputResponses: true });
    const execution = await session.callTool('pay', { euros: 1 });
    if (execution.kind !== 'task') throw new Error('no task');
    const { taskId } = execution.handle;
    expect(await session.task(taskId).snapshot()).toMatchObject({ taskId, status: 'working' });
    expect(existsSync(file)).toBe(false);
    await approvePending(ledger, 'pay');
    const { outcome } = await execution.settle();
    expect(resultFromTaskOutcome(outcome)).toMatchObject({ content: [{ text: 'paid 1' }] });
    expect(readFileSync(file, 'utf8')).toBe('paid 1\n');
  });

  it('answers the question of the tool, which is asked after the approval', async () => {
    const asked: JsonValue[] = [];
    const { session } = await connect(join(place.folder, 'asked.txt'), {
      onInputRequest: (request) => {
        asked.push(request.params?.['message'] ?? null);
        return Promise.resolve({ action: 'accept', content: { confirm: 'yes' } } as never);
      },
    });
    const execution = await session.callTool('confirm_delete', { filename: 'a.txt' });
    expect(asked).toEqual([]);
    await approvePending(ledger, 'confirm_delete');
    const { outcome } = await execution.settle();
    expect(resultFromTaskOutcome(outcome)).toMatchObject({ content: [{ text: 'deleted a.txt' }] });
    expect(asked).toEqual(['Delete it?']);
  });

  it('returns a denial as the result of a tool that failed', async () => {
    const file = join(place.folder, 'official-denied.txt');
    const { session } = await connect(file);
    const execution = await session.callTool('pay', { euros: 2 });
    const { approvalId, proposal } = await pendingOf(ledger, 'pay');
    await ledger.respond(approvalId, {
      decision: { type: 'deny' },
      reason: 'not today',
      proposalDigest: proposal.digest,
    });
    const { outcome } = await execution.settle();
    expect(resultFromTaskOutcome(outcome)).toMatchObject({ isError: true });
    expect(JSON.stringify(outcome)).toContain('not today');
    expect(existsSync(file)).toBe(false);
  });

  it('cancels a task while people decide: the call is cancelled, and nobody is asked any more', async () => {
    const file = join(place.folder, 'official-cancelled.txt');
    const { session } = await connect(file);
    const execution = await session.callTool('pay', { euros: 3 });
    const { callId } = await pendingOf(ledger, 'pay');
    await execution.cancel();
    const { outcome } = await execution.settle();
    expect(outcome.status).toBe('cancelled');
    expect(() => resultFromTaskOutcome(outcome)).toThrow(TaskCancelledError);
    expect((await ledger.getToolCall(callId)).state).toBe('cancelled');
    expect((await ledger.listApprovals({ state: 'pending' })).approvals).toEqual([]);
    expect(existsSync(file)).toBe(false);
  });

  it('follows a task of an earlier gate with its reference alone', async () => {
    const file = join(place.folder, 'official-resumed.txt');
    const first = await connect(file);
    const execution = await first.session.callTool('pay', { euros: 4 });
    if (execution.kind !== 'task') throw new Error('no task');
    const reference = execution.serializeReference();
    await execution.detach();
    await first.client.close();
    const { session } = await connect(file);
    const resumed = await session.resumeTask(reference);
    await approvePending(ledger, 'pay');
    const { outcome } = await resumed.settle();
    expect(resultFromTaskOutcome(outcome)).toMatchObject({ content: [{ text: 'paid 4' }] });
    expect(readFileSync(file, 'utf8')).toBe('paid 4\n');
  });
});
