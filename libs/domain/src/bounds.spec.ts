import { describe, expect, it } from '@jest/globals';
import { noMoreResponses } from './bounds.js';
import { historyLimits } from './history-limits.js';
import { answer, deny, request, stage } from './testing/fixtures.js';
import { history, stateAfter } from './testing/given.js';
import { currentApproval } from './tool-call.state.js';

/** How many bytes of an answer still fit, after a request with a value of this length. */
function roomAfter(length: number): number {
  const value = 'x'.repeat(length);
  const two = { stages: [stage({ deny: 2 })] };
  const approval = currentApproval(
    stateAfter(history(request(two, { arguments: { password: value } }), deny('alice'))),
  );
  if (approval === undefined) throw new Error('nobody is asked');
  const fits = (bytes: number) => noMoreResponses(approval, answer('bob', 'y'.repeat(bytes)), false) === undefined;
  let [low, high] = [0, historyLimits.bytesMax];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (fits(middle)) low = middle;
    else high = middle;
  }
  return low;
}

describe('the room that is left in an approval', () => {
  it('says no more about hidden values than how many KiB there are', () => {
    expect(roomAfter(40)).toBe(roomAfter(4));
    expect(roomAfter(900)).toBe(roomAfter(4));
    expect(roomAfter(3000)).toBeLessThan(roomAfter(4));
  });
});
