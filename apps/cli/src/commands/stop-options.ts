import type { Command } from 'commander';
import type { Runner } from '../runner.js';
import type { StopOptions } from './stop.js';

/** `countersign stop` and `countersign resume`: hold back calls in an emergency, and let them go on. */
export function addStopCommands(program: Command, runner: Runner): void {
  program
    .command('stop')
    .description('stop calls now: none is requested, approved or claimed (admins, stoppers)')
    .option('--all', 'every call')
    .option('--agent <glob>', 'the calls of these agents')
    .option('--tool <glob>', 'the calls of these tools')
    .option('--tenant <tenant>', 'the calls of this tenant; from the tenant "default"')
    .requiredOption('--reason <text>', 'why; recorded, and told to those who wait')
    .addHelpText(
      'after',
      `
Ends within a second for every process. Prints the calls that still run: their
leases are not renewed, and their tools hear the abort. People may still deny
and cancel. docs/operations.md has more.

Examples:
  countersign stop --all --reason "the agents pay invoices twice"
  countersign stop --tool 'refund_*' --reason "the price list is wrong"`,
    )
    .action(async (options: StopOptions, command: Command) =>
      runner.asking(command, async (invocation) => (await import('./stop.js')).stop(invocation, options)),
    );
  program
    .command('resume [stopId]')
    .description('list the stops; show what one holds back; with --reason lift it (admins)')
    .option('--reason <text>', 'lift it, and why; recorded')
    .addHelpText(
      'after',
      `
Read, decide, run: without an id it lists the stops, with one it shows what
would go on, and with --reason it lifts the stop.

Examples:
  countersign resume
  countersign resume stop_abcdefghijklmnopqrstuvwxyz
  countersign resume stop_abcdefghijklmnopqrstuvwxyz --reason "it is mended"`,
    )
    .action(async (stopId: string | undefined, options: { readonly reason?: string }, command: Command) =>
      runner.asking(command, async (invocation) => (await import('./stop.js')).resume(invocation, stopId, options)),
    );
}
