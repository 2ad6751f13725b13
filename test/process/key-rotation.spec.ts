import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { runCli } from './cli/run-cli.js';
import { cleanUpAfterEach } from './harness/cleanup.js';
import { install } from './harness/standalone.js';
import type { Installation } from './harness/standalone.js';
import { requestOne } from './traffic/scene.js';

cleanUpAfterEach();

const secret = 'hunter2-before-the-rotation';

const rotate = ({ folder, port }: Installation, env: Readonly<Record<string, string>> = {}) =>
  runCli({ folder, port, env }, ['keys', 'rotate', '--json']);
const rootOf = ({ dataFolder }: Installation): string => readFileSync(join(dataFolder, 'root.key'), 'utf8').trim();
const hasNext = ({ dataFolder }: Installation): boolean => existsSync(join(dataFolder, 'root.key.next'));
const filesWith = ({ dataFolder }: Installation, text: string): readonly string[] =>
  readdirSync(dataFolder).filter((name) => readFileSync(join(dataFolder, name)).includes(text));

async function argumentsOf({ http, tokens }: Installation, callId: string): Promise<unknown> {
  const path = `/v1/audit/tool-calls/${callId}/events?values=clear`;
  const { body } = await http.send({ method: 'GET', path, token: tokens.me });
  return (body as { readonly toolCall: { readonly arguments: unknown } }).toolCall.arguments;
}

test.each(['made', 'before-commit', 'committed', 'overwritten'])(
  'a rotation that is killed at rotate.%s loses nothing, and can be repeated',
  async (point) => {
    const installation = await install();
    const { callId } = await requestOne(installation.stage, { arguments: { password: secret } });
    const old = rootOf(installation);
    const busy = await rotate(installation);
    expect([busy.code, busy.err]).toEqual([7, expect.stringContaining('in use by process')]);
    await installation.server().stop();

    const killed = await rotate(installation, { COUNTERSIGN_CRASH_AT: `rotate.${point}` });
    expect(killed.code).toBeNull();
    await installation.restart();
    expect(await argumentsOf(installation, callId)).toEqual({ password: secret });
    const isOld = point === 'made' || point === 'before-commit';
    expect([rootOf(installation) === old, hasNext(installation)]).toEqual([isOld, isOld]);
    await installation.server().stop();

    const done = await rotate(installation);
    expect([done.code, JSON.parse(done.out)]).toMatchObject([0, { status: 'rotated' }]);
    expect([filesWith(installation, old), hasNext(installation)]).toEqual([[], false]);
    await installation.restart();
    expect(await argumentsOf(installation, callId)).toEqual({ password: secret });
  },
);
