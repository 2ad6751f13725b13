import { expect, test } from '@jest/globals';
import { cleanUpAfterEach, temporaryFolder } from './harness/cleanup.js';
import { startWorld, untilNoted } from './worker-sdk/setup.js';

cleanUpAfterEach();

const deniedSettings = { DECIDES: 'yes', N: '13' };
/** At the second append: the first is the record of the start. */
const pointsOfDenial = ['append.before-commit', 'append.after-commit'];

test('a denial in code survives kill -9 of server and worker: the model gets the reason, nothing runs, no person is asked', async () => {
  const { me, server, kill, restart, startAgent } = await startWorld();
  for (const point of pointsOfDenial) {
    await kill();
    await restart({ COUNTERSIGN_CRASH_AT: `${point}:2` });
    const crashing = server();
    const folder = temporaryFolder();
    const first = startAgent(folder, { ...deniedSettings, RUN: point });
    expect(await crashing.exited).toEqual({ code: null, signal: 'SIGKILL' });
    await first.kill();
    await restart();
    const second = startAgent(folder, { ...deniedSettings, RUN: point });
    expect(await second.ended).toBe(0);
    expect(second.results()).toMatchObject([{ status: 'blocked', reason: 'unlucky', decidedBy: [] }]);
    expect(second.notes()).toEqual([]);
  }
  expect((await me.listApprovals({})).approvals).toEqual([]);
});

test('arguments of an approver that the code denies never run, also when both were killed between the two', async () => {
  const { me, server, kill, restart, startAgent } = await startWorld();
  const folder = temporaryFolder();
  const asking = startAgent(folder, { DECIDES: 'yes' });
  await untilNoted(asking, 'waiting awaiting_approval');
  await asking.kill();
  const [approval] = (await me.listApprovals({ state: 'pending' })).approvals;
  await me.respond(approval?.approvalId ?? '', { decision: { type: 'edit', arguments: { n: 13 } } });
  await kill();
  await restart({ COUNTERSIGN_CRASH_AT: 'append.after-commit:2' });
  const crashing = server();
  const first = startAgent(folder, { DECIDES: 'yes' });
  expect(await crashing.exited).toEqual({ code: null, signal: 'SIGKILL' });
  await first.kill();
  await restart();
  const second = startAgent(folder, { DECIDES: 'yes' });
  expect(await second.ended).toBe(0);
  expect(second.results()).toMatchObject([{ status: 'cancelled', reason: 'unlucky', edited: true }]);
  expect(second.notes().filter((line) => line.startsWith('begin'))).toEqual([]);
});
