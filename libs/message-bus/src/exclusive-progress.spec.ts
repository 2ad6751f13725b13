import { exclusiveProgressContract } from './exclusive-progress.contract.js';
import { FencedError } from './exclusive-progress.js';
import { createMemoryExclusiveProgress } from './testing/memory-exclusive-progress.js';

exclusiveProgressContract('in memory', async () => {
  const shared = createMemoryExclusiveProgress();
  return {
    open: async () => shared.open(),
    freeze: async (process) => shared.freeze(process),
    thaw: async (process) => shared.thaw(process),
    close: async () => undefined,
  };
});

describe('the exclusive progress in memory', () => {
  it('tells a deposed holder at once, and lets it stand in line again', async () => {
    const shared = createMemoryExclusiveProgress();
    const [one, other] = [shared.open(), shared.open()];
    const { signal } = new AbortController();
    const first = await one.take(signal);
    const second = other.take(signal);
    shared.depose();
    expect(first.ended.aborted).toBe(true);
    await expect(first.keep('1')).rejects.toBeInstanceOf(FencedError);
    const again = one.take(signal);
    await (await second).keep('2');
    await (await second).release();
    expect([(await again).progress, shared.history]).toEqual(['2', ['2']]);
  });
});
