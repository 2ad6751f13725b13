import { copyFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { readAuditLines, readLogFile } from './audit/log.js';
import { flipBitIn } from './harness/bytes.js';
import { cleanUpAfterEach, temporaryFolder } from './harness/cleanup.js';
import type { Server } from './harness/server.js';
import { install } from './harness/standalone.js';
import { folderComplaints } from './harness/verified-folder.js';
import { eventually, within } from './harness/wait.js';
import { accepted, execute, requestOne } from './traffic/scene.js';
import type { Stage } from './traffic/scene.js';
import { countedTools } from './traffic/tools.js';

cleanUpAfterEach();

async function someHistory(stage: Stage, calls: number): Promise<void> {
  for (let call = 0; call < calls; call += 1) await execute(stage, (await requestOne(stage)).callId);
}

/** Expects a start to exit with the reason. */
async function expectRefusal(server: Server, ...said: readonly (string | RegExp)[]): Promise<void> {
  expect(await within(100_000, server.exited)).toMatchObject({ code: 1 });
  for (const words of said) expect(server.output()).toMatch(words);
}

describe('a log that is not the one that was recorded', () => {
  test('an older copy of it is refused, and the right one is taken again', async () => {
    const { stage, server, restart, startAnyhow, dataFolder } = await install();
    const [log, older, right] = ['events.db', 'older.db', 'right.db'].map((name) => join(dataFolder, name));
    if (log === undefined || older === undefined || right === undefined) throw new Error('unreachable');
    await someHistory(stage, 5);
    await server().stop();
    copyFileSync(log, older);
    await restart();
    await someHistory(stage, 5);
    await server().stop();
    copyFileSync(log, right);
    copyFileSync(older, log);
    await expectRefusal(startAnyhow(), /events up to position 44 were acknowledged/, /ends at position 23/);
    expect(readLogFile(log)).toHaveLength(23);
    copyFileSync(right, log);
    await restart();
    await someHistory(stage, 1);
  });

  test('one bit of one event is noticed before any request is served', async () => {
    const { stage, server, restart, startAnyhow, dataFolder } = await install();
    const log = join(dataFolder, 'events.db');
    const { callId } = await requestOne(stage, { arguments: { path: '/a-needle-in-the-log' } });
    await someHistory(stage, 5);
    await server().stop();
    const flipBack = flipBitIn(log, '/a-needle-in-the-log');
    await expectRefusal(startAnyhow(), /position 4\b/, new RegExp(callId), /restore/);
    flipBack();
    await restart();
    await someHistory(stage, 1);
  });

  test('one bit of what a kill left in the write-ahead log is noticed, not dropped', async () => {
    const { stage, server, startAnyhow, restart, dataFolder } = await install();
    await requestOne(stage, { arguments: { path: '/a-needle-in-the-log' } });
    await someHistory(stage, 5);
    await server().stop('SIGKILL');
    const flipBack = flipBitIn(join(dataFolder, 'events.db-wal'), '/a-needle-in-the-log');
    await expectRefusal(startAnyhow(), /events\.db-wal is damaged at offset/, /do not delete/);
    flipBack();
    await restart();
    await someHistory(stage, 1);
  });

  test('damage far back, which no start looks at, is found by itself: nothing more is written, and it says so', async () => {
    const { stage, http, tokens, server, startAnyhow, dataFolder } = await install();
    const old = await requestOne(stage, { arguments: { path: '/a-needle-in-the-log' } });
    await fillLog(stage, 12_000);
    await server().stop();
    flipBitIn(join(dataFolder, 'events.db'), '/a-needle-in-the-log');
    startAnyhow();
    // It starts, and serves what is sound; it may have found the damage before it was asked for the first time.
    await eventually('an answer', () => http.send({ method: 'GET', path: '/healthz' }).catch(() => undefined));
    const audit = `/v1/audit/tool-calls/${old.callId}/events`;
    // Never served as if it were intact, whether detected or not: the event is in its place without its content.
    const shown = await http.send({ method: 'GET', path: audit, token: tokens.me });
    const { events } = shown.body as { readonly events: readonly { position: number; unreadable?: object }[] };
    expect(events.filter(({ unreadable }) => unreadable !== undefined).map(({ position }) => position)).toEqual([4]);
    expect(shown.text).not.toContain('-the-log');
    const ready = await eventually('the damage to be found', async () => {
      const answer = await http.send({ method: 'GET', path: '/readyz' });
      return answer.status === 503 ? answer.text : undefined;
    });
    expect(ready).toContain('position 4 ');
    const body = { runId: 'after', calls: [{ toolCallId: 'after', toolName: 'move', arguments: {} }] };
    const write = await http.send({ method: 'POST', path: '/v1/tool-calls', token: tokens.agent, body });
    expect(write.status).toBe(503);
    const read = await http.send({ method: 'GET', path: '/v1/approvals', token: tokens.me });
    expect(read.status).toBe(200);
    // What is sound is served, and the page says what is not.
    const page = await http.send({ method: 'GET', path: '/v1/audit/events?before=7', token: tokens.me });
    expect(readAuditLines(page.text).map(({ position }) => position)).toEqual([1, 2, 3, 5, 6]);
    expect(page.headers).toMatchObject({ 'countersign-log': 'damaged', 'countersign-log-missing': '4' });
  });
});

/** Requests a number of calls in large steps, each with at least two events. */
async function fillLog(stage: Stage, events: number): Promise<void> {
  for (let step = 0; step * 512 < events; step += 1) {
    const calls = Array.from({ length: 256 }, (_, call) => ({
      toolCallId: `${call}`,
      toolName: 'move',
      arguments: {},
    }));
    accepted(stage, 'request', await stage.ledger.request({ runId: `fill-${step}`, calls }));
  }
}

describe('files that can be deleted', () => {
  test.each([['read-model.db'], ['idempotency.db'], ['bus.db']])(
    'without %s everything is as before, and nothing runs again',
    async (name) => {
      const tools = await countedTools(temporaryFolder());
      const ledger = await install({ COUNTERSIGN_TOOLS: tools.toolsFile });
      const { stage, dataFolder, http, tokens } = ledger;
      const calls = await Promise.all(
        Array.from({ length: 10 }, () => requestOne(stage, { toolName: 'write_line_freely' })),
      );
      await untilSucceeded(
        stage,
        calls.map(({ callId }) => callId),
      );
      const request = {
        method: 'POST',
        path: '/v1/tool-calls',
        token: tokens.agent,
        idempotencyKey: 'once',
        body: { runId: 'again', calls: [{ toolCallId: 'again', toolName: 'move', arguments: {} }] },
      } as const;
      expect((await http.send(request)).status).toBe(201);
      await ledger.server().stop();
      for (const file of [name, `${name}-wal`, `${name}-shm`]) rmSync(join(dataFolder, file), { force: true });
      await ledger.restart();
      const marker = await requestOne(stage, { toolName: 'write_line_freely' });
      await untilSucceeded(stage, [...calls.map(({ callId }) => callId), marker.callId]);
      expect((await http.send(request)).status).toBeLessThan(300);
      const entries = await ledger.stopAndRead();
      expect(entries.filter(({ type }) => type === 'ToolCallRequested')).toHaveLength(12);
      expect(tools.executions()).toHaveLength(11);
      expect(await folderComplaints(dataFolder)).toEqual([]);
    },
  );

  test('a damaged read model is rebuilt', async () => {
    const { stage, ledger, server, restart, dataFolder } = await install();
    const { callId } = await requestOne(stage, { arguments: { path: '/a-needle-in-the-views' } });
    await server().stop();
    writeFileSync(
      join(dataFolder, 'read-model.db'),
      'this is no database, and long enough to look like one. '.repeat(200),
    );
    await restart();
    expect(accepted(stage, 'look', await ledger.call(callId)).arguments).toEqual({ path: '/a-needle-in-the-views' });
    await server().stop();
    expect(await folderComplaints(dataFolder)).toEqual([]);
  });
});

async function untilSucceeded({ ledger, ...stage }: Stage, callIds: readonly string[]): Promise<void> {
  await eventually('the tools of the service to run', async () => {
    const replies = await Promise.all(callIds.map((callId) => ledger.call(callId)));
    const calls = replies.map((reply) => accepted({ ledger, ...stage }, 'look', reply));
    return calls.every(({ state }) => state === 'succeeded') ? true : undefined;
  });
}
