import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { StopEffect, ToolCallView } from '@countersign/contracts';
import { cleanUpAfterEach } from './harness/cleanup.js';
import { install } from './harness/standalone.js';
import { findingsOf } from './harness/verified-folder.js';

cleanUpAfterEach();

type Body = StopEffect & { readonly calls: readonly ToolCallView[]; readonly code?: string };

test('a stop holds after a kill, and a file in the data folder stops a process as well', async () => {
  const world = await install();
  const { http, tokens, dataFolder } = world;
  const send = async (path: string, token: string, body: unknown) => {
    const answer = await http.send({ method: 'POST', path, token, body });
    return { status: answer.status, body: answer.body as Body };
  };
  const request = (toolCallId: string) =>
    send('/v1/tool-calls', tokens.agent, { runId: 'run', calls: [{ toolCallId, toolName: 'pay', arguments: {} }] });
  const callId = (await request('a')).body.calls[0]?.callId ?? '';
  const claim = () => send(`/v1/tool-calls/${callId}/claim`, tokens.worker, { resolverId: 'w' });
  const { status, body } = await send('/v1/stops', tokens.me, { reason: 'the agents pay twice' });
  expect({ status, held: body.held }).toMatchObject({ status: 201, held: [{ callId }] });
  const stopped = { status: 409, body: { code: 'stopped' } };
  expect([await claim(), await request('b')]).toMatchObject([stopped, stopped]);
  await world.server().stop('SIGKILL');
  await world.restart();
  expect([await claim(), await request('b')]).toMatchObject([stopped, stopped]);
  expect(await send(`/v1/stops/${body.stop.stopId}/lift`, tokens.me, { reason: 'mended' })).toMatchObject({
    status: 200,
  });

  const file = join(dataFolder, 'STOP');
  writeFileSync(file, 'nothing else answers');
  expect([await claim(), await request('b')]).toMatchObject([stopped, stopped]);
  rmSync(file);
  expect([await claim(), await request('b')]).toMatchObject([{ status: 200 }, { status: 201 }]);
  await world.server().stop();
  expect(await findingsOf(dataFolder)).toEqual([]);
});
