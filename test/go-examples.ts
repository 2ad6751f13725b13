import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from '@jest/globals';
import { quickGo } from './quick-go.ts';

const folder = join(import.meta.dirname, '..', 'examples', 'go');
// Without Go the rest runs; in CI it must be there.
const hasGo = process.env['CI'] !== undefined || spawnSync('go', ['version']).error === undefined;
const goEnvironment = { ...process.env, ...quickGo };

/** Builds programs of `examples/go` into a folder: no spec may overwrite a program that another one runs. */
export function buildGo(
  target: string,
  ...programs: readonly ('http' | 'kafka' | 'conformance' | 'receipts' | 'frontend')[]
): void {
  if (!hasGo) return;
  const packages = programs.map((name) => `./${name}`);
  execFileSync('go', ['build', '-o', `${target}/`, ...packages], { cwd: folder, env: goEnvironment, stdio: 'pipe' });
}

const judges = {
  'countersign-judges': '.',
  cosigner: './cosigner',
  fsck: 'github.com/transparency-dev/tessera/cmd/fsck',
  omniwitness: 'github.com/transparency-dev/witness/cmd/omniwitness',
} as const;

/** Builds the programs of others that judge a log, unmodified, and the one that uses their libraries. */
export function buildJudges(target: string, ...programs: readonly (keyof typeof judges)[]): void {
  if (!hasGo) return;
  const packages = programs.map((name) => judges[name]);
  const cwd = join(import.meta.dirname, 'judges');
  execFileSync('go', ['build', '-o', `${target}/`, ...packages], { cwd, env: goEnvironment, stdio: 'pipe' });
}

/** Runs the tests of a package of `examples/go`, or one of them with these variables. Throws with what they printed when one fails. */
export function testGo(name: 'countersign', only = '', env: Readonly<Record<string, string>> = {}): string {
  const args = ['test', '-v', ...(only === '' ? [] : ['-run', only]), `./${name}`];
  return execFileSync('go', args, { cwd: folder, env: { ...goEnvironment, ...env }, encoding: 'utf8', stdio: 'pipe' });
}

/** The tests that need Go; without it, one test that reports that. */
export function describeWithGo(tests: () => void): void {
  if (hasGo) describe('in Go', tests);
  else it('is not tried in Go, which is not installed here', () => undefined);
}

/** A line that the examples print for a call. */
interface ResultLine {
  readonly toolCallId: string;
  readonly state: string;
  readonly text: string;
}

export interface GoProgram {
  /** The lines that it has printed so far. */
  readonly results: () => readonly ResultLine[];
  /** Resolves when it has ended. */
  readonly ended: Promise<{
    readonly code: number | null;
    readonly results: readonly ResultLine[];
    readonly log: string;
  }>;
  readonly kill: () => Promise<void>;
}

/** Runs a program that was built. */
export function runGo(file: string, args: readonly string[], env: Readonly<Record<string, string>>): GoProgram {
  const child = spawn(file, [...args], { env: { ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  let [printed, log] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (log += text));
  const results = () =>
    printed
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as ResultLine)
      .toSorted((one, other) => (one.toolCallId < other.toolCallId ? -1 : 1));
  const ended: GoProgram['ended'] = new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, results: results(), log }));
  });
  return {
    results,
    ended,
    kill: async () => {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/** The mails that the tool of the examples has sent. */
export function mailsIn(outbox: string): readonly string[] {
  if (!existsSync(outbox)) return [];
  return readFileSync(outbox, 'utf8')
    .split('\n')
    .filter((line) => line !== '');
}
