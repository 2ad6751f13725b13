import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { defences } from './defences.ts';
import { NotFromTheSeedError, withoutRealTimeAndChance } from './world/guard.ts';

/** Runs `npm run sim` as a person does, and answers what it says and its exit code. */
function sim(args: readonly string[], env: Readonly<Record<string, string>>) {
  const file = join(import.meta.dirname, 'main.ts');
  const done = spawnSync(process.execPath, [file, ...args], { env: { ...process.env, ...env }, encoding: 'utf8' });
  return { status: done.status, said: done.stdout, error: done.stderr };
}

/** How many seeds each run of the suite lives through; a hundred a test. */
const seeds = Number(process.env['SEEDS'] ?? '500');
const hundreds = Array.from({ length: Math.ceil(seeds / 100) }, (_, index) => index * 100 + 1);
const patienceMs = 1_200_000;

describe('the simulation', () => {
  it.each(hundreds)(
    'keeps every promise in a hundred worlds from seed %i on',
    (first) => {
      const { status, said } = sim([], { FIRST_SEED: String(first), SEEDS: '100' });
      expect(said).toContain(' 0 broke a promise');
      expect(status).toBe(0);
    },
    patienceMs,
  );

  it(
    'gives one seed the same trace, byte for byte, each time',
    () => {
      const [one, other] = [1, 2].map(() => sim(['--digests'], { FIRST_SEED: '1000', SEEDS: '12' }).said.split('\n'));
      const digests = (lines: readonly string[] = []) => lines.filter((line) => /^\d+ [0-9a-f]{64}$/.test(line));
      expect(digests(one)).toHaveLength(12);
      expect(digests(other)).toEqual(digests(one));
    },
    patienceMs,
  );

  it(
    'has teeth: whichever defence is taken out, a seed notices',
    () => {
      const { status, said } = sim(['--teeth'], {});
      const noticed = Object.keys(defences).filter((name) =>
        new RegExp(`without ${name}: seed \\d+ notices`).test(said),
      );
      expect(noticed).toEqual(Object.keys(defences));
      expect(status).toBe(0);
    },
    patienceMs,
  );

  it(
    'says which seed to run again, and what happened in it',
    () => {
      const { said } = sim(['--without', 'first-resolution'], { SEEDS: '3' });
      const [, seed = ''] = /^SEED=(\d+) npm run sim -- --without first-resolution$/m.exec(said) ?? [];
      const again = sim(['--without', 'first-resolution'], { SEED: seed });
      expect(again.said).toMatch(/VIOLATION +one-resolution: apr_/);
      expect(again.status).toBe(1);
      expect(sim(['--without', 'nothing-we-know'], {}).status).toBe(2);
    },
    patienceMs,
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
