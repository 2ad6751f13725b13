import { describe, expect, it } from '@jest/globals';
import { sim, simTimeoutMs } from './sim.ts';
import { buildWithNest, NotFromTheSeedError, withoutRealTimeAndChance } from './world/guard.ts';

describe('the simulation', () => {
  it(
    'gives one seed the same trace, byte for byte, each time',
    () => {
      const digests = (from: number, count: number) =>
        sim(['--digests'], { FIRST_SEED: String(from), SEEDS: String(count) })
          .output.split('\n')
          .filter((line) => /^\d+ [0-9a-f]{64}$/.test(line));
      const all = digests(1000, 12);
      expect(all).toHaveLength(12);
      expect(digests(1000, 12)).toEqual(all);
      // The first world of a process loads what later ones find loaded.
      expect(digests(1011, 1)).toEqual(all.slice(-1));
    },
    simTimeoutMs,
  );

  it(
    'says which seed to run again, and what happened in it',
    () => {
      const { output } = sim(['--without', 'first-resolution'], { SEEDS: '3' });
      const [, seed = ''] = /^SEED=(\d+) npm run sim -- --without first-resolution$/m.exec(output) ?? [];
      const again = sim(['--without', 'first-resolution'], { SEED: seed });
      expect(again.output).toMatch(/VIOLATION +one-resolution: apr_/);
      expect(again.status).toBe(1);
      expect(sim(['--without', 'nothing-we-know'], {}).status).toBe(2);
    },
    simTimeoutMs,
  );
});

describe('a simulated world', () => {
  it.each([
    ['the real clock', () => Date.now()],
    ['the present date', () => new Date()],
    ['real chance', () => Math.random()],
    ['a stopwatch', () => performance.now()],
    ['a real timer', () => setTimeout(() => undefined, 1)],
  ])('has none of its own of %s', async (_, reach) => {
    await expect(withoutRealTimeAndChance(async () => reach())).rejects.toThrow(NotFromTheSeedError);
    expect(new Date(Date.now()).getTime()).toBeGreaterThan(0);
  });

  it('lets Nest alone use chance and a stopwatch, and only while it builds', async () => {
    const built = withoutRealTimeAndChance(async () => {
      const meanwhile = Promise.resolve().then(() => expect(() => Math.random()).toThrow(NotFromTheSeedError));
      const drawn = await buildWithNest(async () => [Math.random(), performance.now()]);
      await meanwhile;
      expect(() => Math.random()).toThrow(NotFromTheSeedError);
      await expect(buildWithNest(async () => Date.now())).rejects.toThrow(NotFromTheSeedError);
      return drawn;
    });
    await expect(built).resolves.toEqual([expect.any(Number), expect.any(Number)]);
  });

  it('knows every other date', async () => {
    await expect(withoutRealTimeAndChance(async () => new Date(0).toISOString())).resolves.toBe(
      '1970-01-01T00:00:00.000Z',
    );
  });
});
