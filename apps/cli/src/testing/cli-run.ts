import type { ExitCode } from '../exit-codes.js';
import { runCli } from '../program.js';
import { createFakeTerminal } from './fake-terminal.js';

/** The exit code and the output of a command. */
export interface CliResult {
  readonly code: ExitCode;
  readonly out: string;
  readonly err: string;
}

/** Runs a command in this process with its own fake terminal. */
export type CliRun = (...args: readonly string[]) => Promise<CliResult>;

/** @param env the whole environment of the commands. */
export function createCliRun(env: Readonly<Record<string, string>>): CliRun {
  return async (...args) => {
    const terminal = createFakeTerminal({ env });
    const code = await runCli(args, terminal);
    return { code, out: terminal.out(), err: terminal.err() };
  };
}
