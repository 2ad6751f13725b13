import { describe, expect, it } from '@jest/globals';
import { fold } from './decider.js';
import { stopDecider } from './stop.decider.js';
import type { DeclareStop, LiftStop } from './stop.decider.js';
import { isInForce } from './stop.state.js';
import type { Stops } from './stop.state.js';

const at = Date.parse('2026-11-29T10:00:00.000Z');
const everything = { tenant: null, agentId: null, toolName: null };
const declare: DeclareStop = {
  ...{ type: 'DeclareStop', at, stopId: 'stop_1', scope: everything, reason: 'it pays twice', declaredBy: 'ann' },
};
const lift: LiftStop = {
  ...{ type: 'LiftStop', at: at + 60_000, stopId: 'stop_1', reason: 'mended', liftedBy: 'bob', callIds: ['tc_1'] },
};
const inForce = ({ stops }: Stops) => stops.filter(isInForce).map(({ stopId }) => stopId);

function after(...commands: readonly (DeclareStop | LiftStop)[]): Stops {
  return commands.reduce<Stops>((state, command) => {
    const decided = stopDecider.decide(command, state);
    if (decided.status === 'refused') throw new Error(decided.refusal.detail);
    return fold({ ...stopDecider, initialState: () => state }, decided.events);
  }, stopDecider.initialState());
}

describe('a stop', () => {
  it('holds from its declaration until it is lifted', () => {
    expect(inForce(after())).toEqual([]);
    expect(after(declare).stops).toMatchObject([{ stopId: 'stop_1', reason: 'it pays twice', lifted: null }]);
    expect(inForce(after(declare))).toEqual(['stop_1']);
    expect(inForce(after(declare, lift))).toEqual([]);
  });

  it('is recorded once, and lifted once', () => {
    expect(stopDecider.decide(declare, after(declare))).toEqual({ status: 'accepted', events: [] });
    expect(stopDecider.decide(lift, after(declare, lift))).toEqual({ status: 'accepted', events: [] });
    expect(stopDecider.decide(lift, after())).toMatchObject({ refusal: { code: 'not-requested' } });
  });

  it('tells of the calls of other tenants when it is lifted, where there are any', () => {
    const otherTenants = [{ tenant: 'acme', callIds: ['tc_2'] }];
    const lifted = (command: LiftStop) => stopDecider.decide(command, after(declare));
    expect(lifted({ ...lift, otherTenants })).toMatchObject({
      events: [{ data: { callIds: ['tc_1'], otherTenants } }],
    });
    expect(lifted({ ...lift, otherTenants: [] })).toEqual(lifted(lift));
  });

  it('stays in force while another one is lifted', () => {
    expect(inForce(after(declare, { ...declare, stopId: 'stop_2' }, lift))).toEqual(['stop_2']);
  });
});
