import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from '@jest/globals';
import { deriveCallId } from '@countersign/contracts';
import type { ErasureView } from '@countersign/contracts';
import { cleanUpAfterEach, temporaryFolder } from '../harness/cleanup.js';
import { eventually } from '../harness/wait.js';
import { openKept } from './kept-world.js';
import { openStoreServer, readAfter, storeUrl } from './roles.js';
import {
  erase,
  erased,
  openGateways,
  placesOf,
  playSecrets,
  post,
  requestSecrets,
  subject,
  untilErasedOn,
  viewOn,
} from './secrets.js';

cleanUpAfterEach();

/** The number of keys in a state. */
function keysIn(folder: string, state: string): unknown {
  const database = new DatabaseSync(join(folder, 'keys.db'), { readOnly: true });
  try {
    return database.prepare('SELECT count(*) AS keys FROM keys WHERE state = ?').get(state)?.['keys'];
  } finally {
    database.close();
  }
}

test('without a keeper, the secrets are in the files: the search of the other tests finds them', async () => {
  const storeFolder = temporaryFolder();
  const { port } = await openStoreServer(undefined, storeFolder);
  const world = await openGateways(storeUrl(port), {}, [storeFolder]);
  await playSecrets(world);
  expect(placesOf(world).length).toBeGreaterThan(0);
  expect((await erase(world.a)).body).toMatchObject({ code: 'not-supported' });
});

test('two gateways that erase the same subject at once record one proof, and the values stay erased', async () => {
  const world = await openKept();
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
});

test('a gateway that is killed after the proof of an erasure leaves no key: the keeper destroys it', async () => {
  const world = await openKept({ ofA: { COUNTERSIGN_CRASH_AT: 'erase.recorded:1' } });
  const { a, b, keysFolder } = world;
  await playSecrets(world);
  await expect(erase(a)).rejects.toThrow();
  expect(await a.exited).toEqual({ code: null, signal: 'SIGKILL' });
  expect(await untilErasedOn(b)).toMatchObject(erased);
  await eventually('the key to be destroyed', () => (keysIn(keysFolder, 'erasing') === 0 ? true : undefined));
  expect(keysIn(keysFolder, 'destroyed')).toBeGreaterThan(0);
  const started = await world.start();
  await started.ready();
  expect(await viewOn(started)).toMatchObject(erased);
  // The first result again. Another request finds nothing.
  expect((await erase(started)).body).toMatchObject({ status: 'erased', values: 2 });
  const another = await post(started, 'ann-token', '/v1/subjects/erase', { subject, force: false });
  expect(another.body).toMatchObject({ status: 'nothing-to-erase' });
});

test('a gateway without the keeper ends, and says what to set', async () => {
  const world = await openKept();
  await playSecrets(world);
  const none = { COUNTERSIGN_KEEPER_URL: '', COUNTERSIGN_KEEPER_TOKEN_FILE: '', COUNTERSIGN_KEEPER_CA_FILE: '' };
  const { exited, output } = await world.start(none);
  expect((await exited).code).toBe(1);
  expect(output()).toContain('set COUNTERSIGN_KEEPER_URL to the keeper that the other processes of the cluster use');
});

test('a forced erasure cancels a call that was requested on the other gateway', async () => {
  const { a, b } = await openKept();
  const requested = await requestSecrets(a, 'open');
  await readAfter(b, `/v1/tool-calls/${deriveCallId('default', 'run-1', 'open')}`, requested);
  const answer = await post(b, 'ann-token', '/v1/subjects/erase', { subject, force: true });
  expect([answer.status, answer.body]).toMatchObject([200, { status: 'erased', calls: 1, values: 1 }]);
  expect(await viewOn(b, 'open')).toMatchObject({ state: 'cancelled', arguments: { password: '[erased]' } });
});
