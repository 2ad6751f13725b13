import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { cleanUpAfterEach, temporaryFolder } from './harness/cleanup.js';
import { freePort } from '../ports.js';
import { startServer } from './harness/server.js';
import { canMountSmallDisks, mountSmallDisk } from './harness/small-disk.js';
import { install } from './harness/standalone.js';
import type { Installation } from './harness/standalone.js';
import { folderComplaints } from './harness/verified-folder.js';
import { eventually, within } from './harness/wait.js';
import { waitFor } from './traffic/approval-scenes.js';
import { requestOne } from './traffic/scene.js';

cleanUpAfterEach();

const megabyte = 1024 * 1024;

test('a data folder that cannot be made ends the start, and is named', async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'data'), 'a file where the folder should be');
  const server = startServer({ folder, port: await freePort() });
  expect(await within(100_000, server.exited)).toMatchObject({ code: 1 });
  expect(server.output()).toContain(join(folder, 'data'));
});

/** Requests calls until one is refused; returns how many were accepted, and the refusal. */
async function fill(installation: Installation, textLength: number): Promise<{ taken: number; refusal: string }> {
  for (let taken = 0; ; taken += 1) {
    const answer = await post(installation, taken, textLength);
    if (answer.status !== 201) return { taken, refusal: `${answer.status} ${answer.text}` };
  }
}

function post({ http, tokens }: Installation, index: number, textLength: number) {
  const call = { toolCallId: `call-${index}`, toolName: 'move', arguments: { text: 'x'.repeat(textLength) } };
  const body = { runId: 'fill', calls: [call] };
  const idempotencyKey = `fill-${index}`;
  return http.send({ method: 'POST', path: '/v1/tool-calls', token: tokens.agent, idempotencyKey, body });
}

/** Expects everything that can be read to be read, whether it fitted into the file of the views or not. */
async function expectReads({ http, tokens }: Installation, calls: number): Promise<void> {
  const get = (path: string, token: string) => http.send({ method: 'GET', path, token });
  expect((await get('/v1/runs/fill', tokens.agent)).body).toMatchObject({ calls: { length: calls } });
  expect((await get('/v1/approvals', tokens.me)).status).toBe(200);
  expect((await get('/v1/audit/events', tokens.me)).status).toBe(200);
}

// Where no small disk can be mounted, the event store's own specs simulate failing writes.
if (canMountSmallDisks()) {
  describe('a full disk is said, loses nothing, leaves reads alone, and heals when there is space again', () => {
    test.each([
      ['the log does not fit any more', { ballastMb: 8, textLength: 20_000 }],
      // Small calls fit into the space that the log has already allocated, when the read model cannot grow any more.
      ['the views do not fit any more', { ballastMb: 4, textLength: 0 }],
    ])('%s', async (_, { ballastMb, textLength }) => {
      const folder = mountSmallDisk(16);
      const ballast = join(folder, 'ballast');
      writeFileSync(ballast, Buffer.alloc(ballastMb * megabyte));
      const installation = await install({}, folder);
      const { http, server, restart, stage, stopAndRead, dataFolder } = installation;
      const { taken, refusal } = await fill(installation, textLength);
      expect(refusal).toMatch(/^503 .*"unavailable"/);
      expect(taken).toBeGreaterThan(10);
      const ready = await http.send({ method: 'GET', path: '/readyz' });
      expect([ready.status, ready.text]).toEqual([503, expect.stringContaining('full')]);
      await expectReads(installation, taken);

      rmSync(ballast);
      await eventually('writes to go on', async () =>
        (await post(installation, taken, textLength)).status < 300 ? true : undefined,
      );
      await eventually('it to be ready', async () =>
        (await http.send({ method: 'GET', path: '/readyz' })).status === 200 ? true : undefined,
      );
      await requestOne(stage);
      await server().stop('SIGKILL');
      await restart();
      await expectReads(installation, taken + 1);
      const ofCalls = (await stopAndRead()).filter(({ callId }) => callId !== null);
      expect(ofCalls).toHaveLength(2 * taken + 4);
      expect(await folderComplaints(dataFolder)).toEqual([]);
    });

    test('does not end the process when a deadline comes, which is recorded as soon as there is space', async () => {
      const folder = mountSmallDisk(16);
      const ballast = join(folder, 'ballast');
      writeFileSync(ballast, Buffer.alloc(13 * megabyte));
      const installation = await install({}, folder);
      const { http, stage } = installation;
      const call = await requestOne(stage, { needsApproval: true, expiresInMs: 6000 });
      await fill(installation, 20_000);
      await sleep(Math.max(0, Date.parse(call.approval?.expiresAt ?? '') + 1000 - Date.now()));
      expect((await http.send({ method: 'GET', path: '/healthz' })).status).toBe(200);
      rmSync(ballast);
      expect((await waitFor(stage, call.callId, 'decided')).state).toBe('expired');
    });
  });
}
