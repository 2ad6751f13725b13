import { printable } from '@countersign/text';
import { usageError } from './cli-error.js';
import type { ExitCode } from './exit-codes.js';
import { exitCodes } from './exit-codes.js';
import type { Output } from './invocation.js';
import { unknownSettings, unusedByStandalone } from './setting-names.js';

/** The processes that `countersign start` can start: everything in one process, or one role of a cluster. */
export const roles = [
  'standalone',
  'gateway',
  'ledger',
  'relay',
  'projector',
  'resolver',
  'notifier',
  'notary',
  'keeper',
] as const;

type StartedRole = (typeof roles)[number];

/** How to start a process. */
export interface StartOptions {
  /** Print the effective configuration instead. */
  readonly printConfig?: boolean;
}

/**
 * `countersign start [role]`. The server's code is loaded only here, so that every other command starts fast. Resolves
 * when the server has stopped.
 */
export async function startCommand(role: string, { printConfig = false }: StartOptions = {}): Promise<ExitCode> {
  if (!isRole(role)) throw usageError(`There is no process "${role}".`, `Known are: ${roles.join(', ')}.`);
  await warn(unknownSettings(process.env));
  if (role === 'standalone') {
    await warn(unusedByStandalone(process.env));
    const standalone = await import('@countersign/standalone');
    if (printConfig) standalone.printConfig();
    else await standalone.main();
    return exitCodes.ok;
  }
  const cluster = await import('@countersign/cluster');
  if (printConfig) cluster.printConfig(role);
  else await cluster.main(role);
  return exitCodes.ok;
}

async function warn(problems: readonly string[]): Promise<void> {
  const { printStartupLine } = await import('@countersign/runtime');
  for (const problem of problems) printStartupLine(process.stderr, 'warn', `countersign: ${problem}`);
}

/** `countersign tokens create <file>`: the tokens that several gateways share. */
export async function createTokensCommand(output: Output, file: string): Promise<ExitCode> {
  const { createTokensFile } = await import('@countersign/cluster');
  const created = createTokensFile(file) !== undefined;
  output.printJson({ file, created });
  const done = created ? 'made, readable by its owner alone: agent, me, worker' : 'exists already and was not changed';
  output.print({ text: `${printable(file)} ${done}` });
  return exitCodes.ok;
}

function isRole(role: string): role is StartedRole {
  return (roles as readonly string[]).includes(role);
}

/** The end of `countersign start --help`. */
export const startHelp = `
The roles:
  standalone  everything in one process, its log in a folder: needs Node alone
  gateway     the API and the inbox: needs EventStoreDB
  ledger      handles requests from Kafka
  relay       publishes the recorded events on Kafka
  projector   records deadlines
  resolver    executes the tools of COUNTERSIGN_TOOLS
  notifier    sends messages to people
  notary      keeps the tree over the log and signs checkpoints of it
  keeper      lends the keys of sensitive values to the other roles of a
              cluster: needs EventStoreDB

The roles from ledger to notary need EventStoreDB and Kafka. A role is
configured by its environment. --print-config shows all settings, and reports
every mistake in them at once. Files are read at the start. A role waits for
each dependency that is unavailable; /readyz names them.

Examples:
  countersign start
  COUNTERSIGN_PORT=8080 COUNTERSIGN_DATA=/var/lib/countersign countersign start
  COUNTERSIGN_EVENTSTORE_URL=esdb://store:2113 \\
    COUNTERSIGN_TOKENS_FILE=tokens.json countersign start gateway
  COUNTERSIGN_EVENTSTORE_URL=esdb://store:2113 \\
    COUNTERSIGN_KAFKA_BROKERS=kafka:9092 countersign start relay
  countersign start ledger --print-config`;
