import { describe, expect, it } from '@jest/globals';
import { sim, simTimeoutMs } from './sim.ts';

/** The number of spec files `seeds-*.spec.ts`: jest runs them side by side. */
const shares = 3;
/** How many seeds the whole suite runs. */
const seeds = Number(process.env['SEEDS'] ?? '150');
const seedsPerTest = 100;
/** Seeds beyond the usual ones that once found something. */
const foundSomething = [304, 320, 472].filter((seed) => seed > seeds);

/** Defines the tests of one share of the seeds, counted from 0. */
export function simulateShare(share: number): void {
  const [from, to] = [share, share + 1].map((index) => 1 + Math.floor((seeds * index) / shares)) as [number, number];
  const firsts = Array.from({ length: Math.ceil((to - from) / seedsPerTest) }, (_, nth) => from + nth * seedsPerTest);

  describe('the simulation', () => {
    it.each(firsts)(
      'keeps every promise in up to a hundred worlds from seed %i on',
      (first) => {
        const count = Math.min(seedsPerTest, to - first);
        const also = first === 1 ? foundSomething : [];
        const env = { FIRST_SEED: String(first), SEEDS: String(count), ALSO_SEEDS: also.join(',') };
        const { status, output } = sim([], env);
        expect(output).toContain(`${count + also.length} seeds, `);
        expect(output).toContain(' 0 broke a promise');
        expect(status).toBe(0);
      },
      simTimeoutMs,
    );
  });
}
