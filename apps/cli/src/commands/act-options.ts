import type { Command } from 'commander';
import { Option } from 'commander';
import type { Runner } from '../runner.js';

/** The commands that change more than one answer: cancel, reconcile, start. */
export function addActCommands(program: Command, runner: Runner): void {
  program
    .command('cancel [callId]')
    .description('cancel a call, or with --run all open calls of a run')
    .option('--run <runId>', 'all open calls of this run')
    .option('--reason <text>', 'why; recorded')
    .addHelpText(
      'after',
      `
For whoever requested the call, and for admins.

Examples:
  countersign cancel tc_abcdefghijklmnopqrstuvwxyz --reason "wrong customer"
  countersign cancel --run run-42`,
    )
    .action(async (id: string | undefined, options: { run?: string; reason?: string }, command: Command) =>
      runner.asking(command, async (invocation) => (await import('./act.js')).cancel(invocation, id, options)),
    );
  program
    .command('reconcile <callId>')
    .description('say what happened to a call whose outcome is unknown (admins)')
    .addOption(
      new Option('--status <status>', 'what happened').choices(['succeeded', 'failed', 'retry']).makeOptionMandatory(),
    )
    .requiredOption('--note <text>', 'how you know; recorded')
    .addHelpText(
      'after',
      `
Example:
  countersign reconcile tc_abcdefghijklmnopqrstuvwxyz --status succeeded \\
    --note "seen in the list of the bank"`,
    )
    .action(async (id: string, options: { status: string; note: string }, command: Command) =>
      runner.asking(command, async (invocation) => (await import('./act.js')).reconcile(invocation, id, options)),
    );
  program
    .command('start [role]')
    .description('start the server; the role is standalone (everything in one process) unless named')
    .addHelpText(
      'after',
      `
Examples:
  countersign start
  COUNTERSIGN_PORT=8080 COUNTERSIGN_DATA=/var/lib/countersign countersign start`,
    )
    .action(async (role: string | undefined) =>
      runner.alone(async () => (await import('../start.js')).startCommand(role ?? 'standalone')),
    );
}
