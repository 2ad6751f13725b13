import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { onCleanup } from '../harness/cleanup.js';
import { inheritedEnvironment } from '../harness/environment.js';

const bin = join(import.meta.dirname, '..', '..', '..', 'apps', 'cli', 'bin', 'countersign.js');

/** Where a command is run: in a server's folder, so that it finds the token of `me` in `data/tokens.json`. */
export interface CliPlace {
  readonly folder: string;
  readonly port: number;
  readonly env?: Readonly<Record<string, string>>;
}

/** How a command ended. */
export interface CliResult {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** A command that is running. */
export interface RunningCli {
  readonly out: () => string;
  readonly err: () => string;
  readonly kill: (signal: NodeJS.Signals) => void;
  readonly ended: Promise<CliResult>;
}

/** Starts `countersign …` as a user of that machine would, without a terminal. It is killed after the test. */
export function startCli(place: CliPlace, args: readonly string[], input = ''): RunningCli {
  const child = spawn(process.execPath, [bin, ...args], { cwd: place.folder, env: environmentOf(place) });
  const read = { out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (read.out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (read.err += text));
  child.stdin.end(input);
  const ended = new Promise<CliResult>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      resolve({ code, ...read });
    });
  });
  onCleanup(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  return { out: () => read.out, err: () => read.err, kill: (signal) => void child.kill(signal), ended };
}

/** Runs `countersign …` to its end. */
export function runCli(place: CliPlace, args: readonly string[], input = ''): Promise<CliResult> {
  return startCli(place, args, input).ended;
}

/** The command line and environment of `countersign …`, for other ways to start it. */
export function cliCommand(args: readonly string[]): readonly string[] {
  return [process.execPath, bin, ...args];
}

/** Without the runner's own `COUNTERSIGN_…` variables. */
export function environmentOf({ port, env = {} }: CliPlace): NodeJS.ProcessEnv {
  return { HOME: '/', ...inheritedEnvironment(), COUNTERSIGN_PORT: String(port), ...env };
}
