import assert from 'node:assert/strict';
import type { CrashPoint } from '../crash-proxy.js';
import { toldBy, type Pause, type Script, type Session } from '../session.js';
import { oneRefund, type Scenario } from './scenario.js';

const crashAt = (step: CrashPoint['step'], side: CrashPoint['side']): Script => ({
  ...oneRefund,
  crash: { step, side },
});

/** SIGKILL between every two steps of a call, and the same run again. */
export const crashes: readonly Scenario[] = [
  {
    name: 'killed before its request reached the ledger: the next process asks once',
    script: crashAt('request', 'before'),
    run: async (session: Session): Promise<void> => {
      await session.crash();
      assert.equal(await session.ledger.callOf('c1'), undefined);
      const pause = await session.untilAsked('c1');
      await session.ledger.decide('c1', { type: 'approve' });
      await pause.finish();
      assert.deepEqual(session.ran('refund'), [{ amount: 50 }]);
      assert.equal((await session.ledger.callOf('c1'))?.state, 'succeeded');
    },
  },
  {
    name: 'killed after its request was recorded: the question stays, and the call runs once',
    script: crashAt('request', 'after'),
    run: async (session: Session): Promise<void> => {
      await session.crash();
      const asked = await session.ledger.until('c1', 'awaiting_approval');
      await session.ledger.decide('c1', { type: 'approve' });
      const told = toldBy(await session.start().rest());
      assert.match(told['c1'] ?? '', /"refunded":\s*50/);
      assert.deepEqual(session.ran('refund'), [{ amount: 50 }]);
      const after = await session.ledger.callOf('c1');
      assert.equal(after?.approval?.approvalId, asked.approval?.approvalId, 'people were asked twice');
    },
  },
  {
    name: 'killed after the decision, before its claim: the next process runs the call once',
    script: crashAt('claim', 'before'),
    run: async (session: Session): Promise<void> => {
      const pause = await session.untilAsked('c1');
      await session.ledger.decide('c1', { type: 'approve' });
      await pause.crash();
      await session.ledger.until('c1', 'approved');
      const told = toldBy(await session.start(pause.state).rest());
      assert.match(told['c1'] ?? '', /"refunded":\s*50/);
      assert.deepEqual(session.ran('refund'), [{ amount: 50 }]);
    },
  },
  {
    name: 'killed after its claim, before the tool: the model is told that the outcome is not known',
    script: crashAt('claim', 'after'),
    run: (session: Session): Promise<void> => leavesItUnknown(session, (pause) => pause.crash(), []),
  },
  {
    name: 'killed inside the tool: it does not run again, and the model is told that the outcome is not known',
    script: oneRefund,
    run: (session: Session): Promise<void> => leavesItUnknown(session, (pause) => pause.crashInside('refund')),
  },
  {
    name: 'killed after the tool, before its outcome was recorded: it does not run again, and the outcome is not known',
    script: crashAt('outcome', 'before'),
    run: (session: Session): Promise<void> => leavesItUnknown(session, (pause) => pause.crash()),
  },
  {
    name: 'killed after the outcome was recorded: the model is told it later, and nothing runs again',
    script: crashAt('outcome', 'after'),
    run: async (session: Session): Promise<void> => {
      const pause = await session.untilAsked('c1');
      await session.ledger.decide('c1', { type: 'approve' });
      await pause.crash();
      await session.ledger.until('c1', 'succeeded');
      const told = toldBy(await session.start(pause.state).rest());
      assert.match(told['c1'] ?? '', /"refunded":\s*50/);
      assert.deepEqual(session.ran('refund'), [{ amount: 50 }]);
    },
  },
];

async function leavesItUnknown(
  session: Session,
  crash: (pause: Pause) => Promise<void>,
  ran: readonly object[] = [{ amount: 50 }],
): Promise<void> {
  const pause = await session.untilAsked('c1');
  await session.ledger.decide('c1', { type: 'approve' });
  await crash(pause);
  const told = toldBy(await session.start(pause.state).rest());
  assert.match(told['c1'] ?? '', /not known/);
  assert.deepEqual(session.ran('refund'), ran);
  assert.equal((await session.ledger.callOf('c1'))?.state, 'unknown');
}
