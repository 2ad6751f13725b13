import { describe, expect, it } from '@jest/globals';
import { defences } from './defences.ts';
import { sim, simTimeoutMs } from './sim.ts';

describe('the simulation', () => {
  it(
    'notices every defence that is taken out',
    () => {
      const { status, output } = sim(['--teeth'], {});
      const noticed = Object.keys(defences).filter((name) =>
        new RegExp(`without ${name}: seed \\d+ notices`).test(output),
      );
      expect(noticed).toEqual(Object.keys(defences));
      expect(status).toBe(0);
    },
    simTimeoutMs,
  );
});
