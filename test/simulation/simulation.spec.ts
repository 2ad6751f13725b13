import { describe, expect, it } from '@jest/globals';
import { sim, simTimeoutMs } from './sim.ts';
import { NotFromTheSeedError, withoutRealTimeAndChance } from './world/guard.ts';

describe('the simulation', () => {
  it(
    'gives one seed the same trace, byte for byte, each time',
    () => {
      const [one, other] = [1, 2].map(() => sim(['--digests'], { FIRST_SEED: '1000', SEEDS: '12' }).output.split('\n'));
      const digests = (lines: readonly string[] = []) => lines.filter((line) => /^\d+ [0-9a-f]{64}$/.test(line));
      expect(digests(one)).toHaveLength(12);
      expect(digests(other)).toEqual(digests(one));
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
    ['a real timer', () => setTimeout(() => undefined, 1)],
  ])('has none of its own of %s', async (_, reach) => {
    await expect(withoutRealTimeAndChance(async () => reach())).rejects.toThrow(NotFromTheSeedError);
    expect(new Date(Date.now()).getTime()).toBeGreaterThan(0);
  });

  it('knows every other date', async () => {
    await expect(withoutRealTimeAndChance(async () => new Date(0).toISOString())).resolves.toBe(
      '1970-01-01T00:00:00.000Z',
    );
  });
});
