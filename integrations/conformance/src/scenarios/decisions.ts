import assert from 'node:assert/strict';
import { toldBy, type Session } from '../session.js';
import { assertToldEdit, lookup, oneRefund, refund, type Scenario } from './scenario.js';

/** Scenarios of each decision of a person, and of the result that the model gets. */
export const decisions: readonly Scenario[] = [
  {
    name: 'an approved call runs once, with the arguments that were approved',
    script: oneRefund,
    run: async (session: Session): Promise<void> => {
      const pause = await session.untilAsked('c1');
      assert.deepEqual(session.ran('refund'), [], 'it ran before it was approved');
      await session.ledger.decide('c1', { type: 'approve' });
      const told = await pause.finish();
      assert.deepEqual(session.ran('refund'), [{ amount: 50 }]);
      assert.match(told['c1'] ?? '', /"refunded":\s*50/);
      await session.ledger.untilSucceeded('c1');
    },
  },
  {
    name: 'a denied call does not run, and the model is told the reason',
    script: oneRefund,
    run: async (session: Session): Promise<void> => {
      const pause = await session.untilAsked('c1');
      await session.ledger.decide('c1', { type: 'deny', reason: 'the customer is not ours' });
      assert.match((await pause.finish())['c1'] ?? '', /the customer is not ours/);
      assert.deepEqual(session.ran('refund'), []);
    },
  },
  {
    name: 'an edited call runs with the edited arguments, and the model is told them',
    script: oneRefund,
    run: async (session: Session): Promise<void> => {
      const pause = await session.untilAsked('c1');
      await session.ledger.decide('c1', { type: 'edit', arguments: { amount: 7 } });
      const told = await pause.finish();
      assert.deepEqual(session.ran('refund'), [{ amount: 7 }]);
      assertToldEdit(told['c1'], 7);
    },
  },
  {
    name: 'an answered call does not run, and the model is told the answer',
    script: oneRefund,
    run: async (session: Session): Promise<void> => {
      const pause = await session.untilAsked('c1');
      await session.ledger.decide('c1', { type: 'answer', output: { refundedByHand: 50 } });
      assert.match((await pause.finish())['c1'] ?? '', /refundedByHand/);
      assert.deepEqual(session.ran('refund'), []);
    },
  },
  {
    name: 'calls of one turn are decided one by one',
    // U+2028 ends a line for some readers of lines, and for none of JSON.
    script: { turns: [[refund('c1', 50), lookup('c2', 'x\u2028y'), refund('c3', 70)]] },
    run: async (session: Session): Promise<void> => {
      const pause = await session.untilAsked('c1', 'c3');
      await session.ledger.decide('c1', { type: 'approve' });
      await session.ledger.decide('c3', { type: 'deny', reason: 'too much' });
      const told = await pause.finish();
      assert.deepEqual(session.ran('refund'), [{ amount: 50 }]);
      assert.match(told['c1'] ?? '', /"refunded":\s*50/);
      assert.deepEqual(session.ran('lookup'), [{ id: 'x\u2028y' }], 'the tool without a gate did not run exactly once');
      assert.match(told['c2'] ?? '', /"found":\s*"x(\u2028|\\u2028)y"/);
      assert.match(told['c3'] ?? '', /too much/);
    },
  },
  {
    name: 'a run that goes on with one call decided loses nothing, and runs each call once',
    script: { turns: [[refund('c1', 50), refund('c3', 70)]] },
    needs: 'pauses',
    run: async (session: Session): Promise<void> => {
      const pause = await session.untilAsked('c1', 'c3');
      await session.ledger.decide('c1', { type: 'approve' });
      const rest = await pause.resume();
      assert.equal(rest.event, 'paused', 'it did not wait for the other call');
      const [ran, otherwise] = session.capabilities.partial
        ? [[{ amount: 50 }], 'the decided call did not run while the other one waits']
        : [[], 'a call ran before all calls of its turn were decided'];
      assert.deepEqual(session.ran('refund'), ran, otherwise);
      await session.ledger.decide('c3', { type: 'approve' });
      toldBy(await session.start(rest.state).rest());
      const amounts = session.ran('refund').map(({ amount }) => amount);
      assert.deepEqual(amounts.toSorted(), [50, 70]);
    },
  },
  {
    name: 'a second turn asks again',
    script: { turns: [[refund('c1', 50)], [refund('c2', 70)]] },
    needs: 'pauses',
    run: async (session: Session): Promise<void> => {
      const pause = await session.untilAsked('c1');
      await session.ledger.decide('c1', { type: 'approve' });
      const rest = await pause.resume();
      assert.equal(rest.event, 'paused');
      await session.ledger.decide('c2', { type: 'approve' });
      toldBy(await session.start(rest.state).rest());
      assert.deepEqual(session.ran('refund'), [{ amount: 50 }, { amount: 70 }]);
    },
  },
  {
    name: 'a call that is streamed is approved like any other',
    script: { ...oneRefund, streaming: true },
    needs: 'streaming',
    run: async (session: Session): Promise<void> => {
      const pause = await session.untilAsked('c1');
      await session.ledger.decide('c1', { type: 'approve' });
      assert.match((await pause.finish())['c1'] ?? '', /"refunded":\s*50/);
      assert.deepEqual(session.ran('refund'), [{ amount: 50 }]);
      await session.ledger.untilSucceeded('c1');
    },
  },
  {
    name: 'a call of a nested agent is asked about as itself, and the outer agent goes on after it',
    script: { ...oneRefund, nested: true },
    needs: 'nested',
    run: async (session: Session): Promise<void> => {
      const pause = await session.untilAsked('c1');
      assert.equal((await session.ledger.callOf('c1'))?.toolName, 'refund');
      await session.ledger.decide('c1', { type: 'approve' });
      const told = await pause.finish();
      assert.match(told['c1'] ?? '', /"refunded":\s*50/);
      assert.match(told['outer'] ?? '', /done/, 'the outer agent was not told how its sub-agent ended');
      assert.deepEqual(session.ran('refund'), [{ amount: 50 }]);
      await session.ledger.untilSucceeded('c1');
      assert.deepEqual(
        await session.ledger.toolCallIds(),
        ['c1'],
        'the ledger has other calls than that of the sub-agent',
      );
    },
  },
];
