import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { runCli } from '../cli/run-cli.js';
import { cleanUpAfterEach, temporaryFolder } from '../harness/cleanup.js';
import { eventually } from '../harness/wait.js';
import { openKept } from './kept-world.js';
import { erased, inArgument, placesOf, playSecrets, post, requestSecrets, subject, viewOn } from './secrets.js';

cleanUpAfterEach();

/** Where a rotation is killed, and whether the old root key still holds then. */
const kills = [
  ['made', true],
  ['before-commit', true],
  ['committed', false],
  ['overwritten', false],
] as const;

test('the root key of a cluster is rotated while its gateways take calls, killed at each step: every value is read, and an erasure holds', async () => {
  const world = await openKept();
  const { a, b, startKeeper, keysFolder } = world;
  let keeper = world.keeper;
  const rotate = (env: Readonly<Record<string, string>> = {}) =>
    runCli({ folder: temporaryFolder(), port: 1, env: { ...env, COUNTERSIGN_DATA: keysFolder } }, [
      'keys',
      'rotate',
      '--json',
    ]);
  const rootKey = (): string => readFileSync(join(keysFolder, 'root.key'), 'utf8').trim();
  await playSecrets(world, 'first');
  const busy = await rotate();
  expect([busy.code, busy.err]).toEqual([7, expect.stringContaining('in use by process')]);

  const recorded: string[] = ['first'];
  const over = new AbortController();
  const statuses = new Set<number>();
  const load = (async (): Promise<void> => {
    for (let n = 0; !over.signal.aborted; n += 1) {
      const name = `load-${String(n)}`;
      const { status } = await requestSecrets(n % 2 === 0 ? a : b, name);
      statuses.add(status);
      if (status === 201) recorded.push(name);
      await sleep(50);
    }
  })();
  for (const [point, isOld] of kills) {
    const old = rootKey();
    await keeper.stop('SIGKILL');
    expect((await rotate({ COUNTERSIGN_CRASH_AT: `rotate.${point}` })).code).toBeNull();
    keeper = await startKeeper();
    await keeper.ready();
    expect([point, rootKey() === old]).toEqual([point, isOld]);
    await sleep(500);
  }
  await keeper.stop();
  expect((await rotate()).code).toBe(0);
  keeper = await startKeeper();
  await keeper.ready();
  await eventually('a call to be taken', async () =>
    (await requestSecrets(a, 'last')).status === 201 ? true : undefined,
  );
  over.abort();
  await load;
  process.stdout.write(`${String(recorded.length)} calls, statuses ${[...statuses].join(' ')}\n`);
  for (const name of [...recorded, 'last']) {
    for (const gateway of [a, b]) {
      await eventually(`${name} to be read`, async () =>
        JSON.stringify(await viewOn(gateway, name)).includes(inArgument) ? true : undefined,
      );
    }
  }
  expect([...statuses].filter((status) => status !== 201 && status !== 503)).toEqual([]);
  expect(placesOf(world)).toEqual([]);
  const answer = await post(b, 'ann-token', '/v1/subjects/erase', { subject, force: true });
  expect([answer.status, answer.body]).toMatchObject([200, { status: 'erased' }]);
  for (const gateway of [a, b]) expect(await viewOn(gateway, 'first')).toMatchObject(erased);
}, 240_000);
