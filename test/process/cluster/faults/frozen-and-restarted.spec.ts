import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, test } from '@jest/globals';
import { whileFrozen } from '../../../freeze.ts';
import { cleanUpAfterAll } from '../../harness/cleanup.js';
import { eventually } from '../../harness/wait.js';
import { readinessOf } from '../roles.js';
import { install } from './installation.js';
import type { Installation } from './installation.js';
import { settleAndJudge } from './judge.js';
import type { Supervised } from './supervised.js';
import { groupAccount, readTopic } from './topic-reader.js';
import { startTraffic } from './traffic.js';

cleanUpAfterAll();

/** Longer than the session of a consumer: another process takes over. */
const frozenMs = 10_000;

/** In the second one the process that was frozen first leads again. */
const rounds = process.env['COUNTERSIGN_TEST_NIGHTLY'] === '1' ? 6 : 2;

let installation: Installation;

beforeAll(async () => {
  installation = await install();
}, 600_000);

/** Stops the process for a while. It comes back with all that it had in hand. */
async function freeze({ server }: Supervised, untilThen: () => Promise<unknown>): Promise<void> {
  await whileFrozen(server().pid, () => Promise.all([sleep(frozenMs), untilThen()]));
}

/** Whether it says so itself. A frozen process says nothing. */
async function isActive({ server }: Supervised): Promise<boolean> {
  const answer = await readinessOf(server());
  return (answer?.text ?? '').includes('"note":"publishes"');
}

async function findActive(relays: readonly Supervised[]): Promise<Supervised | undefined> {
  for (const relay of relays) if (await isActive(relay)) return relay;
  return undefined;
}

test('a relay that freezes with its leadership: the other one publishes, and what the first one still had changes no order', async () => {
  const { of, requests, topics } = installation;
  const traffic = startTraffic(installation);
  const group = topics.events.replace('.events.v1', '-relay');
  const places: number[] = [];
  const look = async (): Promise<void> => {
    const account = await groupAccount(requests.kafka, group, topics.events);
    places.push(...[...account.matchAll(/"position\\*":(\d+)/g)].map(([, position]) => Number(position)));
  };
  for (let round = 0; round < rounds; round += 1) {
    const leader = await eventually('a relay to be active', () => findActive(of('relay')));
    const others = of('relay').filter((relay) => relay !== leader);
    await look();
    await freeze(leader, () => eventually('the other relay to be active', () => findActive(others)));
    await look();
    await eventually('the zombie to stand by', async () => ((await isActive(leader)) ? undefined : true));
    await look();
  }
  await traffic.stop();
  const { complaints, entries } = await settleAndJudge(installation);
  expect(complaints).toEqual([]);
  const ids = (await readTopic(requests.kafka, topics.events)).map(({ headers }) => headers['ce_id']);
  process.stdout.write(`${String(entries.length)} events, ${String(ids.length)} copies, places ${places.join(' ')}\n`);
  expect(places).toEqual(places.toSorted((one, other) => one - other));
}, 480_000);

test('each role freezes for longer than its session: nothing is lost, nothing runs twice, every call ends', async () => {
  const traffic = startTraffic(installation);
  for (const role of ['ledger', 'projector', 'resolver', 'gateway']) {
    const [process] = installation.of(role);
    if (process !== undefined) await freeze(process, () => Promise.resolve());
    await sleep(1_000);
  }
  await traffic.stop();
  const { complaints } = await settleAndJudge(installation);
  expect(complaints).toEqual([]);
}, 480_000);

test('SIGTERM to every process, those of a role one after the other, under load: each ends with 0, and no client hears of it', async () => {
  const { journal } = installation;
  const traffic = startTraffic(installation);
  const exits: (readonly [string, unknown])[] = [];
  const ofOneRole = async (role: string): Promise<void> => {
    for (const process of installation.of(role)) {
      exits.push([process.name, await process.restart()]);
      await process.ready();
    }
  };
  await Promise.all(['gateway', 'ledger', 'relay', 'projector', 'resolver'].map(ofOneRole));
  const scenes = traffic.scenes();
  await eventually('work to go on', () => (traffic.scenes() > scenes + 20 ? true : undefined));
  await traffic.stop();
  const wanted = installation.processes().map(({ name }) => [name, { code: 0, signal: null }]);
  expect(exits.toSorted()).toEqual(wanted.toSorted());
  // Every request of every client got a response: none gave up, and only 503 required a retry.
  expect(journal.surprises).toEqual([]);
  const { complaints } = await settleAndJudge(installation);
  expect(complaints).toEqual([]);
}, 600_000);
