import assert from 'node:assert/strict';
import { toldBy, type Session } from '../session.js';
import { assertToldEdit, oneRefund, refund, type Scenario } from './scenario.js';

/** Decisions and resumes that come in another order than usual. */
export const reorderings: readonly Scenario[] = [
  {
    name: 'each call gets its own decision when people decide in the reverse order',
    script: { turns: [[refund('c1', 50), refund('c2', 70)]] },
    run: async (session: Session): Promise<void> => {
      const pause = await session.untilAsked('c1', 'c2');
      await session.ledger.decide('c2', { type: 'edit', arguments: { amount: 7 } });
      await session.ledger.decide('c1', { type: 'deny', reason: 'too much' });
      const told = await pause.finish();
      assert.match(told['c1'] ?? '', /too much/);
      assertToldEdit(told['c2'], 7);
      assert.deepEqual(session.ran('refund'), [{ amount: 7 }]);
    },
  },
  {
    name: 'a process that resumes before the decision runs nothing and requests no second approval',
    script: oneRefund,
    needs: 'pauses',
    run: async (session: Session): Promise<void> => {
      const pause = await session.untilAsked('c1');
      const asked = await session.ledger.callOf('c1');
      const early = await pause.resume();
      assert.equal(early.event, 'paused', 'it did not wait for the decision');
      assert.deepEqual(session.ran('refund'), [], 'it ran before it was approved');
      const again = await session.ledger.callOf('c1');
      assert.equal(again?.approval?.approvalId, asked?.approval?.approvalId, 'people were asked twice');
      await session.ledger.decide('c1', { type: 'approve' });
      assert.match(toldBy(await session.start(early.state).rest())['c1'] ?? '', /"refunded":\s*50/);
      assert.deepEqual(session.ran('refund'), [{ amount: 50 }]);
    },
  },
  {
    name: 'an old state that is resumed after a newer one runs nothing again, and the newer one continues',
    script: { turns: [[refund('c1', 50)], [refund('c2', 70)]] },
    needs: 'pauses',
    run: async (session: Session): Promise<void> => {
      const pause = await session.untilAsked('c1');
      await session.ledger.decide('c1', { type: 'approve' });
      const newer = await pause.resume();
      assert.equal(newer.event, 'paused');
      assert.equal((await pause.resume()).event, 'paused', 'it did not wait for the second turn');
      assert.deepEqual(session.ran('refund'), [{ amount: 50 }]);
      await session.ledger.decide('c2', { type: 'approve' });
      assert.match(toldBy(await session.start(newer.state).rest())['c2'] ?? '', /"refunded":\s*70/);
      assert.deepEqual(session.ran('refund'), [{ amount: 50 }, { amount: 70 }]);
    },
  },
];
