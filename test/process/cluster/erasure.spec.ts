import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from '@jest/globals';
import { deriveCallId } from '@countersign/contracts';
import type { ErasureView, EventView, PastErasure } from '@countersign/contracts';
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

test('each gateway tells the past erasures, with the hash of the keeper, and records who asked', async () => {
  const { a, b, ...world } = await openKept();
  await playSecrets({ a, b, ...world });
  expect((await erase(a)).status).toBe(200);
  await untilErasedOn(b);
  const callId = deriveCallId('default', 'run-1', 'call');
  const ask = async (query: string): Promise<readonly PastErasure[]> => {
    const path = `/v1/audit/erasures?${query}`;
    const { status, body } = await b.http.send({ method: 'GET', path, token: 'ann-token' });
    expect([query, status]).toEqual([query, 200]);
    return (body as { readonly erasures: readonly PastErasure[] }).erasures;
  };
  const [erasure] = await ask(`subject=${subject}`);
  expect(erasure).toMatchObject({ erasedBy: 'ann', values: 2 });
  expect(erasure?.calls).toEqual([{ callId, fields: ['/arguments/password', '/output/apiKey'] }]);
  for (const query of ['', `callId=${callId}`]) expect([query, await ask(query)]).toEqual([query, [erasure]]);
  expect(await ask('subject=customer-7')).toEqual([]);
  const read = await eventually('the record of the read', async () => {
    const path = '/v1/audit/events?types=AuditRead';
    const { text } = await b.http.send({ method: 'GET', path, token: 'ann-token' });
    const reads = text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as EventView]));
    return reads.find(({ data }) => JSON.stringify(data).includes('"masked"'));
  });
  expect(read).toMatchObject({ actor: { id: 'ann' }, data: { count: 1, reads: [{ what: 'list', values: 'masked' }] } });
  expect(JSON.stringify(read)).not.toContain(subject);
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
