import { backoffMs } from './backoff.js';

describe('backoffMs', () => {
  const backoff = { firstMs: 100, maxMs: 1000 };

  it('doubles with each failure, up to its maximum', () => {
    expect([1, 2, 3, 4, 5, 100].map((failures) => backoffMs(failures, backoff))).toEqual([
      100, 200, 400, 800, 1000, 1000,
    ]);
  });

  it('is between half and all of that by chance', () => {
    expect([1, 5].map((failures) => backoffMs(failures, backoff, () => 0))).toEqual([50, 500]);
    expect(backoffMs(5, backoff, () => 0.5)).toBe(750);
  });
});
