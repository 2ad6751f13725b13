import { describe, expect, it } from '@jest/globals';
import type { ToolCallView } from '@countersign/contracts';
import { changesOf } from './use-change.js';

const call = (callId: string, n: number, state = 'awaiting_approval') =>
  ({ callId, state, arguments: { n } }) as unknown as ToolCallView;

describe('the other calls of a step that runs together', () => {
  it('have changed where other arguments would run than were seen', () => {
    const [before, after] = [call('a', 2), call('a', 9, 'approved')];
    expect(changesOf({ a: before }, { a: after })).toEqual([{ before, after }]);
  });

  it('have not changed by an approval of the same arguments, nor where more of them are shown', () => {
    expect(changesOf({ a: call('a', 2) }, { a: call('a', 2, 'approved'), b: call('b', 3) })).toEqual([]);
  });
});
