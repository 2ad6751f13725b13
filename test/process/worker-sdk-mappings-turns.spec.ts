import { beforeAll, expect, test } from '@jest/globals';
import { answerTo, askAbout } from '../../libs/worker-sdk/examples/function-approvals.js';
import { cleanUpAfterAll } from './harness/cleanup.js';
import { callOf, messageOf, openDesk, responsesOf, sessionOf } from './worker-sdk/desk.js';
import type { Desk } from './worker-sdk/desk.js';

cleanUpAfterAll();

let desk: Desk;
beforeAll(async () => {
  desk = await openDesk();
});

const setUp = () => ({ lee: desk.person('lee'), user: desk.person('kim'), worker: desk.worker() });

/** Approves a call in the inbox. */
async function approve(user: ReturnType<Desk['person']>, approvalId: string): Promise<string> {
  const { proposal, shownDigest } = await user.getApproval(approvalId);
  const { callId } = await user.respond(approvalId, {
    decision: { type: 'approve' },
    proposalDigest: proposal.digest,
    shownDigest,
  });
  return callId;
}

test('a turn ends while another process holds an approved call, and names the call', async () => {
  const { lee, user, worker } = setUp();
  const calls = ['held', 'mine'].map((table) => callOf(table, 'drop_table', table));
  const first = await askAbout(worker, user, 'held elsewhere', calls);
  const [held, mine] = responsesOf(first, [true, false]);
  await desk.claim(await approve(lee, held!.id));
  const turn = await answerTo(worker, sessionOf(user), first.state, messageOf('kim', [mine!]), { timeoutMs: 500 });
  expect(turn.refused).toEqual([]);
  expect(turn.waiting).toEqual([{ callId: 'held', state: 'executing' }]);
  expect(turn.contents).toMatchObject([{ callId: 'mine', result: expect.stringMatching(/rejected by user/) }]);
});

test('a turn under a stop ends at once and says which stop keeps what was approved from running', async () => {
  const { lee, user, worker } = setUp();
  const calls = ['stopped', 'mine'].map((table) => callOf(table, 'drop_table', table));
  const first = await askAbout(worker, user, 'under a stop', calls);
  const [stopped, mine] = responsesOf(first, [true, false]);
  await approve(lee, stopped!.id);
  const lift = await desk.stop('the agents pay twice');
  const message = messageOf('kim', [mine!]);
  const startedAt = Date.now();
  const turn = await answerTo(worker, sessionOf(user), first.state, message);
  expect(Date.now() - startedAt).toBeLessThan(5000);
  expect(turn.refused).toEqual([]);
  expect(turn.waiting).toEqual([{ callId: 'stopped', state: 'approved' }]);
  expect(turn.stopDetail).toMatch(/^admin stopped all calls .*: the agents pay twice/);
  expect(turn.contents).toMatchObject([{ callId: 'mine', result: expect.stringMatching(/rejected by user/) }]);
  await lift();
  const last = await answerTo(worker, sessionOf(user), turn.state, messageOf('kim', []));
  expect(last).toMatchObject({ stopDetail: null, waiting: [] });
  expect(last.contents).toMatchObject([{ callId: 'stopped', result: { dropped: 'stopped' } }, { callId: 'mine' }]);
});
