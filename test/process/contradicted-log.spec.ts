import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { runCli } from './cli/run-cli.js';
import { cleanUpAfterEach, temporaryFolder } from './harness/cleanup.js';
import { startDoubtingWitness } from './harness/doubting-witness.js';
import { install } from './harness/standalone.js';
import { eventually } from './harness/wait.js';
import { execute, requestOne } from './traffic/scene.js';

cleanUpAfterEach();

test('a log that a witness contradicts takes no command, no erasure and no policy, until a person goes on with it', async () => {
  const witness = await startDoubtingWitness();
  const policy = join(temporaryFolder(), 'policy.yaml');
  writeFileSync(policy, 'version: 1\n');
  const installed = await install({ ...witness.env, COUNTERSIGN_POLICY: policy });
  const { stage, http, tokens } = installed;
  const { callId } = await requestOne(stage, {
    ...{ labels: { subject: 'customer-1' }, arguments: { password: 'of-customer-1' } },
  });
  await execute(stage, callId);
  const send = async (path: string, body?: object, token = tokens.me) => {
    const { status, text } = await http.send({ method: body === undefined ? 'GET' : 'POST', path, token, body });
    return { status, text };
  };
  const recorded = async (type: string): Promise<number> =>
    (await send(`/v1/audit/events?types=${type}`)).text.split('\n').filter((line) => line !== '').length;
  const ask = () => {
    const call = { toolCallId: 'late', toolName: 'send_mail', arguments: {} };
    return send('/v1/tool-calls', { runId: 'late', calls: [call] }, tokens.agent);
  };
  const erase = () => send('/v1/subjects/erase', { subject: 'customer-1' });
  const activations = await recorded('PolicyActivated');
  expect((await send('/v1/log/checkpoint', {})).status).toBe(200);

  witness.doubt();
  await requestOne(stage);
  await send('/v1/log/checkpoint', {});
  const refused = {
    status: 503,
    text: expect.stringContaining('"code":"unavailable"'),
  };
  await eventually('the log to be contradicted', async () =>
    (await send('/readyz')).text.includes('log-rewound: the witness doubting') ? true : undefined,
  );
  expect(await ask()).toEqual(refused);
  expect(await erase()).toEqual(refused);
  writeFileSync(policy, 'version: 1\nrequireApprovalTools: ["delete_*"]\n');
  await eventually('the changed policy to wait', () =>
    Promise.resolve(installed.server().output().includes('the changed policy waits for the event store') || undefined),
  );
  expect([await recorded('PolicyActivated'), await recorded('SubjectErased')]).toEqual([activations, 0]);
  expect((await send(`/v1/tool-calls/${callId}`)).status).toBe(200);

  const went = await runCli(installed, ['audit', 'continue', '--reason', 'the witness was wrong']);
  expect({ code: went.code, err: went.err }).toEqual({ code: 0, err: '' });
  expect((await ask()).status).toBe(201);
  expect(await erase()).toMatchObject({ status: 200, text: expect.stringContaining('"erased"') });
  await eventually('the changed policy', async () =>
    (await recorded('PolicyActivated')) === activations + 1 ? true : undefined,
  );
});
