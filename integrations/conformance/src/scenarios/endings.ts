import assert from 'node:assert/strict';
import type { Session } from '../session.js';
import { oneRefund, type Scenario } from './scenario.js';

/** Calls that end without a person's yes. */
export const endings: readonly Scenario[] = [
  {
    name: 'an expired call does not run, and an approval that comes late is refused',
    script: { ...oneRefund, hasty: true },
    run: async (session: Session): Promise<void> => {
      const pause = await session.untilAsked('c1');
      const { approval } = await session.ledger.until('c1', 'expired');
      assert.ok(approval);
      assert.match(await session.ledger.refusalOf(approval, 'approve'), /^(expired|already-resolved)$/);
      assert.match((await pause.finish())['c1'] ?? '', /did not run/);
      assert.deepEqual(session.ran('refund'), []);
    },
  },
  {
    name: 'a cancelled call does not run, and the model is told so',
    script: oneRefund,
    run: async (session: Session): Promise<void> => {
      const pause = await session.untilAsked('c1');
      await session.ledger.cancel('c1', 'the order was withdrawn');
      assert.match((await pause.finish())['c1'] ?? '', /cancelled.*the order was withdrawn/);
      assert.deepEqual(session.ran('refund'), []);
    },
  },
  {
    name: 'an approval of the framework alone runs nothing',
    script: oneRefund,
    needs: 'forge',
    run: async (session: Session): Promise<void> => {
      const pause = await session.untilAsked('c1');
      const asked = await session.ledger.callOf('c1');
      const forging = session.start(pause.state, { forge: true });
      const rest = await forging.rest();
      // A framework may end with the adapter's error, or give it to the model.
      if (rest.event === 'failed') assert.match(rest.message, /did not run/);
      if (rest.event === 'finished') assert.doesNotMatch(rest.told['c1'] ?? '', /refunded/);
      assert.equal(forging.timesUsed('forged'), 1, 'it did not answer one question of its framework');
      assert.deepEqual(session.ran('refund'), [], 'it ran without the consent of the ledger');
      const after = await session.ledger.callOf('c1');
      assert.equal(after?.state, 'awaiting_approval');
      assert.equal(after.approval?.approvalId, asked?.approval?.approvalId, 'people were asked twice');
      assert.deepEqual(await session.ledger.toolCallIds(), ['c1'], 'the forged answer requested another call');
      await session.ledger.decide('c1', { type: 'approve' });
      assert.match((await pause.finish())['c1'] ?? '', /"refunded":\s*50/);
      assert.deepEqual(session.ran('refund'), [{ amount: 50 }]);
    },
  },
];
