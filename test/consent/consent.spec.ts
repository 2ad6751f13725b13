import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { defences } from './defences.ts';

/** Worlds of the rules, and worlds of a running server. */
const runs = { each: { rules: '2000', server: '118' }, nightly: { rules: '100000', server: '2000' } };

const isNightly = process.env.COUNTERSIGN_TEST_NIGHTLY === '1';

/** Runs `npm run consent` in a separate process, as a person does. */
function consent(
  RUNS: string,
  ...args: readonly string[]
): { readonly status: number | null; readonly output: string } {
  const { status, stdout } = spawnSync(process.execPath, [join(import.meta.dirname, 'main.ts'), ...args], {
    env: { RUNS, ...process.env },
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  });
  return { status, output: stdout };
}

/** For a stuck machine. */
const timeoutMs = 1_800_000;

describe('the laws of consent', () => {
  it(
    'hold in the known attacks and in worlds of chance, as a model of people, rules, proposals and time judges them',
    () => {
      const { status, output } = consent(isNightly ? runs.nightly.rules : runs.each.rules);
      expect(output).toMatch(/^\d+ worlds kept the laws of consent$/m);
      expect(status).toBe(0);
    },
    timeoutMs,
  );

  it(
    'hold over HTTP in a running server whose clock stands still, which says what the rules say',
    () => {
      const { status, output } = consent(isNightly ? runs.nightly.server : runs.each.server, '--server');
      expect(output).toMatch(/^\d+ worlds kept the laws of consent$/m);
      expect(status).toBe(0);
    },
    timeoutMs,
  );

  it(
    'are judged by a model that notices every defence that is taken out',
    () => {
      const { status, output } = consent('0', '--teeth');
      const noticed = Object.keys(defences).filter((name) =>
        output.includes(`noticed  ${name}: VIOLATION Error: law `),
      );
      expect(noticed).toEqual(Object.keys(defences));
      expect(status).toBe(0);
    },
    timeoutMs,
  );
});
