import { beforeAll, expect, test } from '@jest/globals';
import { cleanUpAfterAll } from '../../harness/cleanup.js';
import { eventually } from '../../harness/wait.js';
import { install } from './installation.js';
import type { Installation } from './installation.js';
import { settleAndJudge } from './judge.js';
import { startTraffic } from './traffic.js';

cleanUpAfterAll();

let installation: Installation;

beforeAll(async () => {
  installation = await install();
}, 300_000);

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
