import { describe, expect, it } from '@jest/globals';
import { sim, simTimeoutMs } from './sim.ts';

/** The number of spec files `seeds-*.spec.ts`: jest runs them side by side. */
const shares = 5;
/** How many seeds the whole suite runs. */
const seeds = Number(process.env['SEEDS'] ?? '250');
const seedsPerTest = 100;

/** Defines the tests of one share of the seeds, counted from 0. */
export function simulateShare(share: number): void {
  const [from, to] = [share, share + 1].map((index) => 1 + Math.floor((seeds * index) / shares)) as [number, number];
  const firsts = Array.from({ length: Math.ceil((to - from) / seedsPerTest) }, (_, nth) => from + nth * seedsPerTest);

  describe('the simulation', () => {
    it.each(firsts)(
      'keeps every promise in up to a hundred worlds from seed %i on',
      (first) => {
        const count = Math.min(seedsPerTest, to - first);
        const { status, output } = sim([], { FIRST_SEED: String(first), SEEDS: String(count) });
        expect(output).toContain(' 0 broke a promise');
        expect(status).toBe(0);
      },
      simTimeoutMs,
    );
  });
}
