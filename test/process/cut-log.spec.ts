import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { readLogFile } from './audit/log.js';
import { runCli } from './cli/run-cli.js';
import { flipBitIn } from './harness/bytes.js';
import { cleanUpAfterEach } from './harness/cleanup.js';
import { install } from './harness/standalone.js';
import { within } from './harness/wait.js';
import { execute, requestOne } from './traffic/scene.js';

cleanUpAfterEach();

/** Adds an agent of another tenant, who is an auditor there too. Returns its token. */
function addTenant(dataFolder: string): string {
  const file = join(dataFolder, 'tokens.json');
  const token = 'cs_globex-agent-with-a-long-token';
  const entry = {
    token,
    principal: 'globex',
    roles: ['agent', 'auditor'],
    agentIds: ['*'],
    owner: 'kim',
    tenant: 'globex',
  };
  writeFileSync(file, JSON.stringify([...(JSON.parse(readFileSync(file, 'utf8')) as object[]), entry]));
  return token;
}

interface Line {
  readonly check?: string;
  readonly ok?: boolean;
  readonly index?: number;
  readonly summary?: {
    readonly exit: number;
    readonly epoch: number;
    readonly continued?: readonly object[];
    readonly unproven: readonly string[];
  };
}

test('a damaged log is cut on purpose, after a copy: the loss is recorded, and the log of each tenant goes on as its next epoch', async () => {
  const installed = await install();
  const { stage, server, startAnyhow, restart, dataFolder, folder, http } = installed;
  await server().stop();
  const token = addTenant(dataFolder);
  await restart();
  const requestOfGlobex = async (toolCallId: string): Promise<void> => {
    const body = { runId: 'globex', calls: [{ toolCallId, toolName: 'move_file', arguments: {} }] };
    expect(await http.send({ method: 'POST', path: '/v1/tool-calls', token, body })).toMatchObject({ status: 201 });
  };
  const checkpointOfGlobex = async (): Promise<string> =>
    (await http.send({ method: 'POST', path: '/v1/log/checkpoint', token })).text;
  await requestOfGlobex('first');
  const copy = join(folder, 'lost');
  const keys = join(folder, 'keys.txt');
  const tenant = ['--tenant', 'default'];
  const keep = async (): Promise<void> => {
    writeFileSync(keys, (await runCli(installed, ['audit', 'keys', '--all'])).out, { flag: 'a' });
  };
  const verified = async (...more: readonly string[]): Promise<readonly Line[]> => {
    const { out } = await runCli(installed, [
      'audit',
      'verify',
      dataFolder,
      ...tenant,
      '--vkey',
      keys,
      '--json',
      ...more,
    ]);
    return out.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Line]));
  };
  for (let call = 0; call < 5; call += 1) await execute(stage, (await requestOne(stage)).callId);
  await requestOne(stage, { arguments: { path: '/a-needle-in-the-log' } });
  for (let call = 0; call < 5; call += 1) await execute(stage, (await requestOne(stage)).callId);
  await requestOfGlobex('second');
  const signed = await checkpointOfGlobex();
  await keep();
  await server().stop();
  const log = join(dataFolder, 'events.db');
  const before = readLogFile(log);
  const cutAt = before.findIndex((event) => JSON.stringify(event).includes('/a-needle-in-the-log'));
  const index = before.slice(0, cutAt).filter((event) => event.tenant === 'default').length;
  flipBitIn(log, '/a-needle-in-the-log');
  expect(await within(100_000, startAnyhow().exited)).toMatchObject({ code: 1 });
  const found = (await verified()).find(({ check, ok }) => check === 'store' && ok === false);
  expect(found?.index).toBe(index);
  const [at, end] = [String(index), String(cutAt)];
  const result = await runCli(installed, ['audit', 'cut', dataFolder, ...tenant, '--at', at, '-o', copy, '--json']);
  expect({ code: result.code, err: result.err }).toEqual({ code: 0, err: '' });
  expect(JSON.parse(result.out)).toEqual({ end: cutAt, from: before.length, copy });
  // The operator says where the log ends, and that is recorded.
  const refused = startAnyhow();
  expect(await within(100_000, refused.exited)).toMatchObject({ code: 1 });
  expect(refused.output()).toContain(`COUNTERSIGN_ACCEPT_LOG_END=${end}`);
  await restart({ COUNTERSIGN_ACCEPT_LOG_END: end });
  await requestOfGlobex('third');
  expect(await checkpointOfGlobex()).toContain('/globex/2\n');
  await execute(stage, (await requestOne(stage)).callId);
  await keep();
  expect((await runCli(installed, ['audit', 'continue', '--reason', 'the disk failed'])).code).toBe(0);
  await server().stop('SIGKILL');
  await restart();
  await server().stop();
  // Each says why its log goes on, before anything else that is new there.
  const added = readLogFile(log).slice(cutAt);
  const newOf = (wanted: string) => added.filter(({ tenant }) => tenant === wanted);
  const [cause] = newOf('globex');
  expect(cause).toMatchObject({
    type: 'LogEndAccepted',
    data: { from: before.length, to: cutAt, checkpoint: signed, why: expect.stringContaining('globex') as unknown },
  });
  const [first, ...others] = newOf('default').filter(({ type }) => type === 'LogEndAccepted');
  expect(first).toBe(newOf('default')[0]);
  const checkpoint = expect.stringContaining('/default/1\n') as unknown;
  expect(first?.data).toMatchObject({ from: before.length, to: cutAt, checkpoint });
  expect(others.map(({ data }) => data)).toMatchObject([
    { from: before.length, to: cutAt, by: 'me', reason: 'the disk failed' },
  ]);
  const { summary } = (await verified()).at(-1) ?? {};
  expect(summary).toMatchObject({ exit: 0, epoch: 2, continued: [{ epoch: 1 }] });
  // The built-in policy is known, although no event has it.
  expect(summary?.unproven.join()).not.toContain('cited policy');
  const salvaged = await runCli(installed, ['audit', 'salvage', copy, '-o', join(folder, 'salvaged'), '--json']);
  expect([salvaged.code, JSON.parse(salvaged.out)]).toMatchObject([1, { sound: before.length - 1, unsound: 1 }]);
  rmSync(copy, { recursive: true });
});
