import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { deriveCallId } from '@countersign/contracts';
import type { ErasureView } from '@countersign/contracts';
import { whileFrozen } from '../../freeze.ts';
import { cleanUpAfterEach, temporaryFolder } from '../harness/cleanup.js';
import type { Server } from '../harness/server.js';
import { eventually } from '../harness/wait.js';
import { anotherToken, loanMs, openKeeper } from './keeper-process.js';
import { openKept } from './kept-world.js';
import type { KeptWorld } from './kept-world.js';
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

cleanUpAfterEach();

const dryRun = async (gateway: Server): Promise<ErasureView> =>
  (await post(gateway, 'ann-token', '/v1/subjects/erase', { subject, dryRun: true })).body as ErasureView;

test('gateways that share no folder write no secret, read the values of each other, an erasure takes effect on both, and strangers are refused', async () => {
  const world = await openKept();
  const { a, b } = world;
  const settled = await playSecrets(world);
  const seen = await readAfter(a, `/v1/tool-calls/${deriveCallId('default', 'run-1', 'call')}?values=clear`, settled);
  expect(seen.body).toMatchObject({ arguments: { password: inArgument }, output: { apiKey: inOutput } });
  expect(placesOf(world)).toEqual([]);
  const answer = await erase(a);
  expect([answer.status, answer.body]).toMatchObject([200, { status: 'erased', calls: 1, values: 2 }]);
  // The answer came when both had written their copies again.
  for (const gateway of [a, b]) expect(await viewOn(gateway)).toMatchObject(erased);
  expect((await dryRun(b)).values).toBe(0);
  for (const gateway of [a, b])
    expect((await requestSecrets(gateway)).body).toMatchObject({ code: 'tool-call-mismatch' });
  await playSecrets(world, 'later');
  expect(await viewOn(b, 'later')).toMatchObject({ arguments: { password: inArgument } });
  expect(placesOf(world)).toEqual([]);
  const wrong = join(temporaryFolder(), 'token');
  writeFileSync(wrong, 'a-token-that-the-keeper-does-not-know-at-all\n');
  const [stranger, second] = await Promise.all([
    world.start({ COUNTERSIGN_KEEPER_TOKEN_FILE: wrong }),
    world.startKeeper(),
  ]);
  expect([(await stranger.exited).code, (await second.exited).code]).toEqual([1, 1]);
  expect(stranger.output()).toContain('COUNTERSIGN_KEEPER_TOKEN_FILE must have one of the lines');
  expect(second.output()).toContain('is in use by process');
});

test('the first keeper on the log of processes without keys says what becomes of them', async () => {
  const storeFolder = temporaryFolder();
  const { port } = await openStoreServer(undefined, storeFolder);
  const { a } = await openGateways(storeUrl(port), {}, [storeFolder]);
  expect((await requestSecrets(a)).status).toBe(201);
  const { keeper, startKeeper } = await openKeeper(storeUrl(port));
  const told = 'these keys are new, and the log has events that were recorded without them';
  await eventually('the warning', () => (keeper.output().includes(told) ? true : undefined));
  await keeper.stop();
  const again = await startKeeper();
  await again.ready();
  expect(again.output()).not.toContain(told);
});

test('without the keeper no secret is recorded once the loans have ended, calls without secrets go on, and its return mends all', async () => {
  const world = await openKept();
  const { a, b, keeper, startKeeper } = world;
  await playSecrets(world);
  await keeper.stop('SIGKILL');
  // Nothing is requested meanwhile: a process that has just recorded a call as the loan ends waits for the keeper (ADR 59).
  await sleep(loanMs);
  const refused = await requestSecrets(a, 'without');
  expect([refused.status, JSON.stringify(refused.body)]).toEqual([
    503,
    expect.stringContaining('the keeper of the keys cannot be asked'),
  ]);
  const plain = { toolCallId: 'plain', toolName: 'look', arguments: { page: 1 }, needsApproval: true };
  const requested = await post(a, 'agent-token', '/v1/tool-calls', { runId: 'run-2', calls: [plain] });
  expect(requested.status).toBe(201);
  expect((await a.http.send({ method: 'GET', path: plainPath, token: 'ann-token' })).status).toBe(200);
  await (await startKeeper()).ready();
  await untilRecorded(b, 'again');
  await eventually('the values to be read again', async () =>
    JSON.stringify(await viewOn(a, 'again')).includes(inArgument) ? true : undefined,
  );
  expect(placesOf(world)).toEqual([]);
  // This one stands still while a key that it has is erased, and does not use it when it goes on.
  const pending = await whileFrozen(b.pid, async () => {
    const answer = await post(a, 'ann-token', '/v1/subjects/erase', { subject, force: true });
    expect([answer.status, answer.body]).toMatchObject([200, { status: 'erased' }]);
    return { answer: requestSecrets(b, 'after') };
  });
  await pending.answer;
  await untilRecorded(b, 'after');
  await eventually('its values to be read', async () =>
    JSON.stringify(await viewOn(a, 'after')).includes(inArgument) ? true : undefined,
  );
  expect(await untilErasedOn(b)).toMatchObject(erased);
});

const plainPath = `/v1/tool-calls/${deriveCallId('default', 'run-2', 'plain')}`;

const untilRecorded = (gateway: Server, toolCallId: string): Promise<true> =>
  eventually('the call to be recorded', async () =>
    (await requestSecrets(gateway, toolCallId)).status < 300 ? true : undefined,
  );

test('an erasure that a crash cut short is taken back without a proof, and finished with one, also when the keeper dies', async () => {
  const world = await openKept({
    ofA: { COUNTERSIGN_CRASH_AT: 'erase.before-record:1' },
    // The first passing is that of the key of the stored responses.
    ofKeeper: { COUNTERSIGN_CRASH_AT: 'erase.before-checkpoint:2' },
  });
  const { a, b, start, keeper, startKeeper } = world;
  await playSecrets(world);
  await expect(erase(a)).rejects.toThrow();
  expect(await a.exited).toEqual({ code: null, signal: 'SIGKILL' });
  expect(await untilErasedOn(b)).toMatchObject(erased);
  await eventually('the values to be read again', async () =>
    JSON.stringify(await viewOn(b)).includes(inOutput) ? true : undefined,
  );
  const again = await start({ COUNTERSIGN_CRASH_AT: 'erase.recorded:1' });
  await again.ready();
  await expect(erase(again)).rejects.toThrow();
  await again.exited;
  expect(await keeper.exited).toEqual({ code: null, signal: 'SIGKILL' });
  await (await startKeeper()).ready();
  expect(await untilErasedOn(b)).toMatchObject(erased);
  const answer = await eventually('an answer', async () => {
    const { status, body } = await erase(b);
    return status === 200 ? body : undefined;
  });
  // The first result again. Another request finds nothing.
  expect(answer).toMatchObject({ status: 'erased', values: 2 });
  const another = await post(b, 'ann-token', '/v1/subjects/erase', { subject, force: false });
  expect(another.body).toMatchObject({ status: 'nothing-to-erase' });
});

test('a keeper whose keys.db lacks a key that the log names does not start, until the loss is accepted', async () => {
  const world = await openKept();
  const { keeper, startKeeper, keysFolder, a } = world;
  await keeper.stop();
  const older = temporaryFolder();
  cpSync(join(keysFolder, 'keys.db'), join(older, 'keys.db'));
  const second = await startKeeper();
  await second.ready();
  await untilRecorded(a, 'call');
  await second.stop();
  cpSync(join(older, 'keys.db'), join(keysFolder, 'keys.db'));
  const refused = await startKeeper();
  expect((await refused.exited).code).toBe(1);
  expect(refused.output()).toContain('it lacks 1 keys of encrypted values');
  expect(refused.output()).toContain('COUNTERSIGN_ACCEPT_LOST_KEYS=yes');
  const accepting = await startKeeper({ COUNTERSIGN_ACCEPT_LOST_KEYS: 'yes' });
  await accepting.ready();
  await accepting.stop();
  await (await startKeeper()).ready();
  await untilRecorded(a, 'later');
});

/** Asks the keeper as a process of the cluster could. Returns the status. */
function askKeeper({ borrowing }: KeptWorld, name: string, body: object): Promise<number> {
  const url = new URL(`/v1/${name}`, borrowing['COUNTERSIGN_KEEPER_URL']);
  const ca = readFileSync(borrowing['COUNTERSIGN_KEEPER_CA_FILE'] ?? '');
  const headers = { authorization: `Bearer ${anotherToken}`, 'content-type': 'application/json' };
  return new Promise((resolve, reject) => {
    const asking = request(url, { method: 'POST', ca, headers }, (response) => {
      response.resume();
      response.once('end', () => {
        resolve(response.statusCode ?? 0);
      });
    });
    asking.on('error', reject).end(JSON.stringify({ session: 'rogue', body }));
  });
}

test('a session that asks on and never confirms holds up an erasure for one loan, gets no more keys, and the log names it', async () => {
  const world = await openKept();
  await playSecrets(world);
  const statuses: number[] = [];
  const over = new AbortController();
  const asking = (async (): Promise<void> => {
    while (!over.signal.aborted) {
      statuses.push(await askKeeper(world, 'follow', { confirmed: { epoch: '', dropped: 0, rewritten: 0 } }));
      await sleep(loanMs / 6);
    }
  })();
  const answer = await erase(world.a);
  expect([answer.status, answer.body]).toMatchObject([200, { status: 'erased' }]);
  expect(await askKeeper(world, 'current', { tenant: 'default', subject })).toBe(503);
  over.abort();
  await asking;
  expect([statuses[0], statuses.at(-1)]).toEqual([200, 503]);
  expect(world.keeper.output()).toMatch(/rogue.*does not confirm a change|does not confirm a change.*rogue/);
  for (const gateway of [world.a, world.b]) expect(await viewOn(gateway)).toMatchObject(erased);
});
