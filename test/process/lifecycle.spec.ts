import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { byCall, readLogFile } from './audit/log.js';
import { cleanUpAfterEach, temporaryFolder } from './harness/cleanup.js';
import { freePort } from '../ports.js';
import { createHttp } from './harness/http.js';
import { createRandom } from './harness/random.js';
import { startServer } from './harness/server.js';
import { install } from './harness/standalone.js';
import { folderComplaints } from './harness/verified-folder.js';
import { eventually, within } from './harness/wait.js';
import { requestOne, someCall } from './traffic/scene.js';
import { countedTools } from './traffic/tools.js';

cleanUpAfterEach();

describe('SIGTERM', () => {
  test('answers the requests in flight: every recorded call gets an answer', async () => {
    const { port, tokens, server, stopAndRead } = await install();
    const http = createHttp(port);
    const acknowledged = new Set<string>();
    const refused: number[] = [];
    const send = async (index: number): Promise<void> => {
      const body = { runId: 'run', calls: [{ toolCallId: `call-${index}`, toolName: 'move', arguments: {} }] };
      const answer = await http
        .send({ method: 'POST', path: '/v1/tool-calls', token: tokens.agent, body })
        .catch(() => undefined);
      if (answer?.status === 201) acknowledged.add(`call-${index}`);
      else if (answer !== undefined) refused.push(answer.status);
    };
    const sending = Array.from({ length: 60 }, (_, index) => send(index));
    await Promise.race(sending);
    server().kill('SIGTERM');
    await Promise.all(sending);
    const entries = await stopAndRead();
    const recorded = entries.flatMap((entry) =>
      entry.type === 'ToolCallRequested' ? [(entry.data as { readonly toolCallId: string }).toolCallId] : [],
    );
    expect(recorded.length).toBeGreaterThan(0);
    expect(recorded.filter((toolCallId) => !acknowledged.has(toolCallId))).toEqual([]);
    expect(refused.filter((status) => status !== 503)).toEqual([]);
    http.close();
  }, 240_000);

  test('answers those who wait for a decision with how it stands', async () => {
    const { stage, tokens, http, server } = await install();
    const call = await requestOne(stage, { needsApproval: true });
    const path = `/v1/tool-calls/${call.callId}?waitMs=50000&until=decided`;
    const waiting = http.send({ method: 'GET', path, token: tokens.agent, timeoutMs: 50_000 });
    // It waits once for a request sent after its response.
    await http.send({ method: 'GET', path: '/healthz' });
    const exit = await server().stop('SIGTERM');
    expect(exit.code).toBe(0);
    expect(await waiting).toMatchObject({ status: 200, body: { state: 'awaiting_approval' } });
  }, 240_000);

  test('lets a running tool of the service report', async () => {
    const tools = await countedTools(temporaryFolder());
    const { stage, server, stopAndRead } = await install({ COUNTERSIGN_TOOLS: tools.toolsFile });
    for (let call = 0; call < 20; call += 1) {
      await requestOne(stage, { toolName: 'write_line_freely' });
    }
    await eventually('a tool to run', () => (tools.executions().length > 0 ? true : undefined));
    server().kill('SIGTERM');
    const entries = await stopAndRead();
    for (const { callId } of tools.executions()) {
      const events = byCall(entries).get(callId) ?? [];
      expect(events.at(-1)?.type).toBe('ExecutionSucceeded');
    }
  }, 240_000);
});

test('SIGINT stops it as well; without a terminal all that it printed is JSON, and no token', async () => {
  const { stage, tokens, server, dataFolder } = await install();
  await requestOne(stage);
  const stopping = server().stop('SIGINT');
  expect(await stopping).toEqual({ code: 0, signal: null });
  const lines = server().output().split('\n').filter(Boolean);
  const messages = lines.map((line) => (JSON.parse(line) as { readonly message: string }).message);
  expect(messages).toEqual(expect.arrayContaining([expect.stringContaining('is ready at'), 'countersign: stopped']));
  for (const token of Object.values(tokens)) expect(server().output()).not.toContain(token);
  const ofCalls = readLogFile(join(dataFolder, 'events.db')).filter(({ callId }) => callId !== null);
  expect(ofCalls).toHaveLength(2);
}, 240_000);

describe('a second process', () => {
  test('on the same folder says which folder and which process, and the first goes on', async () => {
    const { folder, dataFolder, server, stage, restart } = await install();
    const second = startServer({ folder, port: await freePort() });
    const exit = await within(100_000, second.exited);
    expect(exit).toMatchObject({ code: 1 });
    expect(second.output()).toContain(dataFolder);
    expect(second.output()).toContain(String(server().pid));
    await requestOne(stage);
    // The lock ends with its process in every case.
    await server().stop('SIGKILL');
    await restart();
    await requestOne(stage);
  }, 240_000);

  test('on the same port says so, and leaves its own folder free', async () => {
    const { port, stage } = await install();
    const folder = temporaryFolder();
    const second = startServer({ folder, port });
    expect(await within(100_000, second.exited)).toMatchObject({ code: 1 });
    expect(second.output()).toContain('COUNTERSIGN_PORT');
    expect(second.output()).toContain(String(port));
    await requestOne(stage);
    const third = startServer({ folder, port: await freePort() });
    await third.ready();
  }, 240_000);
});

test('killed during its first start, at any moment, it starts the next time', async () => {
  const random = createRandom(11);
  // The next start is a measure of how long one takes on this machine.
  let startMs = 900;
  for (let attempt = 0; attempt < 8; attempt += 1) {
    const [folder, port] = [temporaryFolder(), await freePort()];
    const first = startServer({ folder, port });
    await within(
      random.int(100, startMs),
      first.ready().catch(() => undefined),
    );
    await first.stop('SIGKILL');
    const startedAt = performance.now();
    const next = startServer({ folder, port });
    await next.ready();
    startMs = Math.max(900, Math.round(performance.now() - startedAt));
    await next.stop('SIGKILL');
    expect(await folderComplaints(join(folder, 'data'))).toEqual([]);
  }
}, 240_000);

test('the log, the views and the keys are for their owner alone', async () => {
  const { dataFolder, stage } = await install();
  await requestOne(stage, someCall(stage));
  const open = readdirSync(dataFolder).filter((name) => (statSync(join(dataFolder, name)).mode & 0o077) !== 0);
  const isFolderClosed = (statSync(dataFolder).mode & 0o077) === 0;
  expect(isFolderClosed ? [] : open).toEqual([]);
  expect(statSync(join(dataFolder, 'tokens.json')).mode & 0o077).toBe(0);
}, 240_000);
