import { describeError, judgeFailure, retryDelayMs } from './failure.js';
import { PoisonMessageError } from './message-bus.js';

const none = { counted: 0, transient: 0 };

describe('a failed attempt', () => {
  it('is followed by pauses that double up to a limit', () => {
    const delays = [1, 2, 3, 4, 100].map((n) => retryDelayMs(n, { retryDelayMsMin: 100, retryDelayMsMax: 700 }));
    expect(delays).toEqual([100, 200, 400, 700, 700]);
  });

  it('parks the message when it was the last one', () => {
    const error = new Error('no');
    expect(judgeFailure(error, { counted: 3, transient: 0 }, {})).toMatchObject({ action: 'retry' });
    expect(judgeFailure(error, { counted: 4, transient: 0 }, {})).toEqual({
      action: 'park',
      failure: { code: 'handler-failed', detail: 'Error: no', attempts: 5 },
    });
  });

  it('of the surroundings never parks it, not even a poisonous one', () => {
    const options = { attemptsMax: 1, isTransient: () => true };
    const verdict = judgeFailure(new PoisonMessageError('x', 'y'), { counted: 0, transient: 1000 }, options);
    expect(verdict).toEqual({ action: 'retry', failures: { counted: 0, transient: 1001 }, afterMs: 5_000 });
  });

  it('keeps the code of a poisonous message', () => {
    const verdict = judgeFailure(new PoisonMessageError('malformed', 'not JSON'), none, {});
    expect(verdict).toMatchObject({ failure: { code: 'malformed', detail: 'PoisonMessageError: not JSON' } });
  });

  it('may be anything that was thrown', () => {
    expect(describeError('text')).toBe('text');
    expect(describeError(undefined)).toBe('undefined');
  });
});
