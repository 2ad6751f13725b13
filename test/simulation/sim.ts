import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

/** The output of `npm run sim`, and its exit code. */
export interface SimRun {
  readonly status: number | null;
  readonly output: string;
}

/** Runs `npm run sim` in a separate process, as a person does. */
export function sim(args: readonly string[], env: Readonly<Record<string, string>>): SimRun {
  const file = join(import.meta.dirname, 'main.ts');
  const { status, stdout } = spawnSync(process.execPath, [file, ...args], {
    env: { ...process.env, ...env },
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  return { status, output: stdout };
}

/** A test of the simulation ends by itself; this limit is for a stuck machine. */
export const simTimeoutMs = 1_200_000;
