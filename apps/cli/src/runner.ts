import type { Command } from 'commander';
import type { ExitCode } from './exit-codes.js';
import type { Invocation, Output } from './invocation.js';

/** How a command is run; its exit code is kept. */
export interface Runner {
  /** With an invocation made from the options of the command line. */
  readonly asking: (command: Command, work: (invocation: Invocation) => Promise<ExitCode>) => Promise<void>;
  /** With an output made from the options of the command line: what it works on is in the environment. */
  readonly operating: (command: Command, work: (output: Output) => Promise<ExitCode>) => Promise<void>;
  /** Without a server to ask. */
  readonly alone: (work: () => Promise<ExitCode>) => Promise<void>;
}
