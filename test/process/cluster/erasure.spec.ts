import { expect, test } from '@jest/globals';
import { deriveCallId } from '@countersign/contracts';
import type { ErasureView } from '@countersign/contracts';
import { cleanUpAfterEach, temporaryFolder } from '../harness/cleanup.js';
import { eventually } from '../harness/wait.js';
import { openStoreServer, readAfter, storeUrl } from './roles.js';
import {
  erase,
  erased,
  inArgument,
  inOutput,
  openGateways,
  placesOf,
  playSecrets,
  post,
  requestSecrets,
  subject,
  untilErasedOn,
  viewOn,
} from './secrets.js';
import type { World } from './secrets.js';

cleanUpAfterEach();

/** `shared`: the folder of the keys; without it values are recorded in clear. */
async function openWorld(shared: string | undefined, ofA: Readonly<Record<string, string>> = {}): Promise<World> {
  const storeFolder = temporaryFolder();
  const { port } = await openStoreServer(undefined, storeFolder);
  const places = [storeFolder, ...(shared === undefined ? [] : [shared])];
  return openGateways(storeUrl(port), shared === undefined ? {} : { COUNTERSIGN_KEYS_FOLDER: shared }, places, ofA);
}

test('without the folder of the keys, the secrets are in the files: the search of the other tests finds them', async () => {
  const world = await openWorld(undefined);
  await playSecrets(world);
  expect(placesOf(world).length).toBeGreaterThan(0);
  expect((await erase(world.a)).body).toMatchObject({ code: 'not-supported' });
}, 60_000);

test('two gateways with one folder of keys write no secret, and an erasure on one of them takes effect on both', async () => {
  const world = await openWorld(temporaryFolder());
  const { a, b } = world;
  const settled = await playSecrets(world);
  expect(
    (await readAfter(a, `/v1/tool-calls/${deriveCallId('default', 'run-1', 'call')}`, settled)).body,
  ).toMatchObject({
    arguments: { password: inArgument },
    output: { apiKey: inOutput },
  });
  expect(placesOf(world)).toEqual([]);
  const answer = await erase(a);
  expect([answer.status, answer.body]).toMatchObject([
    200,
    { status: 'erased', calls: 1, values: 2 } satisfies Partial<ErasureView>,
  ]);
  expect(await viewOn(a)).toMatchObject(erased);
  expect(await untilErasedOn(b)).toMatchObject(erased);
  await eventually('no key to be left', 30_000, async () => {
    const again = (await post(b, 'ann-token', '/v1/subjects/erase', { subject, dryRun: true })).body as ErasureView;
    return again.values === 0 ? true : undefined;
  });
  expect(placesOf(world)).toEqual([]);
  // Each gateway had cached the call before the other one settled it, and the agent still has its arguments.
  for (const gateway of [a, b])
    expect((await requestSecrets(gateway)).body).toMatchObject({ code: 'tool-call-mismatch' });
  // The next value of the subject has another key, on both gateways.
  await playSecrets(world, 'later');
  expect(await viewOn(b, 'later')).toMatchObject({ arguments: { password: inArgument } });
}, 120_000);

test('two gateways that erase the same subject at once record one proof, and the values stay erased', async () => {
  const world = await openWorld(temporaryFolder());
  const { a, b } = world;
  await playSecrets(world);
  const answers = await Promise.all([erase(a), erase(b)]);
  expect(answers.map(({ status, body }) => [status, (body as ErasureView).status])).toEqual([
    [200, 'erased'],
    [200, 'erased'],
  ]);
  const [first, second] = answers.map(({ body }) => (body as ErasureView).erasedAt);
  expect(first).toBe(second);
  for (const gateway of [a, b]) expect(await untilErasedOn(gateway)).toMatchObject(erased);
}, 120_000);

test('a gateway that is killed after the proof of an erasure leaves no key: another one finishes', async () => {
  const world = await openWorld(temporaryFolder(), { COUNTERSIGN_CRASH_AT: 'erase.recorded:1' });
  const { a, b } = world;
  await playSecrets(world);
  await expect(erase(a)).rejects.toThrow();
  expect(await a.exited).toEqual({ code: null, signal: 'SIGKILL' });
  expect(await untilErasedOn(b)).toMatchObject(erased);
  const started = await world.start();
  await started.ready();
  expect(await viewOn(started)).toMatchObject(erased);
  expect((await erase(started)).body).toMatchObject({ status: 'nothing-to-erase' });
}, 120_000);

test('a gateway without the folder of the keys ends, and says what to set', async () => {
  const world = await openWorld(temporaryFolder());
  await playSecrets(world);
  const { exited, output } = await world.start({ COUNTERSIGN_KEYS_FOLDER: '' });
  expect((await exited).code).toBe(1);
  expect(output()).toContain('set COUNTERSIGN_KEYS_FOLDER to the folder that the other processes of the cluster use');
}, 60_000);

test('a forced erasure cancels a call that was requested on the other gateway', async () => {
  const { a, b } = await openWorld(temporaryFolder());
  const requested = await requestSecrets(a, 'open');
  await readAfter(b, `/v1/tool-calls/${deriveCallId('default', 'run-1', 'open')}`, requested);
  const answer = await post(b, 'ann-token', '/v1/subjects/erase', { subject, force: true });
  expect([answer.status, answer.body]).toMatchObject([200, { status: 'erased', calls: 1, values: 1 }]);
  expect(await viewOn(b, 'open')).toMatchObject({ state: 'cancelled', arguments: { password: '[erased]' } });
}, 60_000);
