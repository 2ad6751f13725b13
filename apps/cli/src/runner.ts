import type { Command } from 'commander';
import type { ExitCode } from './exit-codes.js';
import type { Invocation, Output } from './invocation.js';

/** Runs a command and keeps its exit code. */
export interface Runner {
  /** Builds the invocation from the options of the command line. */
  readonly asking: (command: Command, work: (invocation: Invocation) => Promise<ExitCode>) => Promise<void>;
  /** Builds the output from the options of the command line. The environment names what the command works on. */
  readonly operating: (command: Command, work: (output: Output) => Promise<ExitCode>) => Promise<void>;
  /** Without a server to ask. */
  readonly alone: (work: () => Promise<ExitCode>) => Promise<void>;
}
