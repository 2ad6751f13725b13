import assert from 'node:assert/strict';
import { toldBy, type Session } from '../session.js';
import { oneRefund, type Scenario } from './scenario.js';

/** SIGKILL between every two steps, and the same run again. */
export const crashes: readonly Scenario[] = [
  {
    name: 'killed at its start: the next process asks once',
    script: oneRefund,
    run: async (session: Session): Promise<void> => {
      await session.start().kill();
      const pause = await session.untilAsked('c1');
      await session.ledger.decide('c1', { type: 'approve' });
      await pause.finish();
      assert.deepEqual(session.ran('refund'), [{ amount: 50 }]);
      await session.ledger.until('c1', 'succeeded');
    },
  },
  {
    name: 'killed after it asked, its state lost: the question stays, and the call runs once',
    script: oneRefund,
    run: async (session: Session): Promise<void> => {
      const first = session.start();
      const asked = await session.ledger.until('c1', 'awaiting_approval');
      await first.kill();
      await session.ledger.decide('c1', { type: 'approve' });
      const told = toldBy(await session.start().rest());
      assert.match(told['c1'] ?? '', /"refunded":\s*50/);
      assert.deepEqual(session.ran('refund'), [{ amount: 50 }]);
      const after = await session.ledger.callOf('c1');
      assert.equal(after?.approval?.approvalId, asked.approval?.approvalId, 'people were asked twice');
    },
  },
  {
    name: 'killed inside the tool: it does not run again, and the model is told that the outcome is not known',
    script: oneRefund,
    run: async (session: Session): Promise<void> => {
      const pause = await session.untilAsked('c1');
      await session.ledger.decide('c1', { type: 'approve' });
      await pause.crashInside('refund');
      const told = toldBy(await session.start(pause.state).rest());
      assert.match(told['c1'] ?? '', /not known/);
      assert.deepEqual(session.ran('refund'), [{ amount: 50 }]);
      assert.equal((await session.ledger.callOf('c1'))?.state, 'unknown');
    },
  },
  {
    name: 'killed after the outcome was recorded: the model is told it later, and nothing runs again',
    script: oneRefund,
    needs: 'pauses',
    run: async (session: Session): Promise<void> => {
      const pause = await session.untilAsked('c1');
      await session.ledger.decide('c1', { type: 'approve' });
      const second = session.start(pause.state);
      // It may have finished before the kill: then this is the replay of an old state.
      const rest = second.rest().catch(() => undefined);
      await session.ledger.until('c1', 'succeeded');
      await second.kill();
      await rest;
      const told = toldBy(await session.start(pause.state).rest());
      assert.match(told['c1'] ?? '', /"refunded":\s*50/);
      assert.deepEqual(session.ran('refund'), [{ amount: 50 }]);
    },
  },
];
