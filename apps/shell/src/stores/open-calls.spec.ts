import { createVirtualClock } from '@countersign/runtime/testing';
import { createOpenCalls, ViewsBehindError } from './open-calls.js';

const open = { calls: [{ callId: 'tc_a', requestedBy: 'ann' }], requesters: ['ann', 'bob'] };
const openCallsOfRun = () => open;
const grants = { ofRun: () => [] };

describe('the open calls of a run', () => {
  it('are asked for once the views show what was recorded before', async () => {
    const clock = createVirtualClock();
    let reach: () => void = () => undefined;
    const asked: number[] = [];
    const readModel = {
      reached: (position: number) => {
        asked.push(position);
        return new Promise<void>((resolve) => (reach = resolve));
      },
      ...{ grants, openCallsOfRun },
      openCallsInside: () => open.calls,
    };
    const given = createOpenCalls({ store: { head: async () => 42 }, readModel, clock }).of('default', 'run-1');
    await clock.advanceAsync(100);
    expect(asked).toEqual([42]);
    reach();
    expect(await given).toEqual({ ...open, grants: [] });
    expect(clock.nextInMs()).toBeUndefined();
  });

  it('are not guessed while the views are behind: it is to be asked again', async () => {
    const clock = createVirtualClock();
    const reached = () => new Promise<void>(() => undefined);
    const readModel = { reached, grants, openCallsOfRun, openCallsInside: () => [] };
    const given = createOpenCalls({ store: { head: async () => 42 }, readModel, clock }).of('default', 'run-1');
    const seen = expect(given).rejects.toBeInstanceOf(ViewsBehindError);
    await clock.advanceAsync(5_000);
    await seen;
  });
});
