import assert from 'node:assert/strict';
import { toldBy, type Session } from '../session.js';
import { oneRefund, type Scenario } from './scenario.js';

/** The same state more than once. */
export const duplicates: readonly Scenario[] = [
  {
    name: 'two processes that go on from one state at once run the tool once, and both models get its result',
    script: oneRefund,
    needs: 'pauses',
    run: async (session: Session): Promise<void> => {
      const pause = await session.untilAsked('c1');
      await session.ledger.decide('c1', { type: 'approve' });
      const both = await Promise.all([pause.finish(), pause.finish()]);
      for (const told of both) assert.match(told['c1'] ?? '', /"refunded":\s*50/);
      assert.deepEqual(session.ran('refund'), [{ amount: 50 }]);
    },
  },
  {
    name: 'an old state after the end runs nothing again, and the model gets the recorded result',
    script: oneRefund,
    needs: 'pauses',
    run: async (session: Session): Promise<void> => {
      const pause = await session.untilAsked('c1');
      await session.ledger.decide('c1', { type: 'approve' });
      const told = await pause.finish();
      assert.equal((await pause.finish())['c1'], told['c1']);
      assert.deepEqual(session.ran('refund'), [{ amount: 50 }]);
    },
  },
  {
    name: 'the whole run from its beginning again runs nothing twice and requests no approval twice',
    script: oneRefund,
    run: async (session: Session): Promise<void> => {
      const pause = await session.untilAsked('c1');
      await session.ledger.decide('c1', { type: 'approve' });
      await pause.finish();
      assert.match(toldBy(await session.start().rest())['c1'] ?? '', /"refunded":\s*50/);
      assert.deepEqual(session.ran('refund'), [{ amount: 50 }]);
    },
  },
];
