import type { Command } from 'commander';
import { Option } from 'commander';
import type { Runner } from '../runner.js';
import { startHelp } from '../start.js';
import type { EraseOptions } from './erase.js';

/** The commands that change more than one response: cancel, reconcile, start. */
export function addActCommands(program: Command, runner: Runner): void {
  program
    .command('cancel [callId]')
    .description('cancel a call, or with --run all open calls of a run')
    .option('--run <runId>', 'all open calls of this run')
    .option('--reason <text>', 'why; recorded')
    .addHelpText(
      'after',
      `
For the principal that requested the call, and for admins.

Examples:
  countersign cancel tc_abcdefghijklmnopqrstuvwxyz --reason "wrong customer"
  countersign cancel --run run-42`,
    )
    .action(async (id: string | undefined, options: { run?: string; reason?: string }, command: Command) =>
      runner.asking(command, async (invocation) => (await import('./act.js')).cancel(invocation, id, options)),
    );
  program
    .command('reconcile <callId>')
    .description('record what happened to a call whose outcome is unknown, or that nobody claims again (admins)')
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
    .command('erase <subject>')
    .description('make the sensitive values of a subject unreadable for ever (admins)')
    .option('--yes', 'do not ask')
    .option('--force', 'cancel the open calls of the subject first')
    .option('--requested-by <principal>', 'only calls of this principal')
    .option('--reason <text>', 'why; recorded')
    .addHelpText(
      'after',
      `
The subject is the label "subject" of the calls, or run:<runId> for calls
without that label. Digests, counts and the hash chain stay verifiable; the
proof is recorded in the log. docs/privacy.md says what stays.

Examples:
  countersign erase customer-42 --reason "request of 25 November"
  countersign erase run:run-42 --yes --json`,
    )
    .action(async (subject: string, options: EraseOptions, command: Command) =>
      runner.asking(command, async (invocation) => (await import('./erase.js')).erase(invocation, subject, options)),
    );
  program
    .command('start [role]')
    .description('start the server, as standalone (everything in one process) or in a role of a cluster')
    .option('--print-config', 'print the effective configuration as JSON, secrets masked, and end')
    .addHelpText('after', startHelp)
    .action(async (role: string | undefined, options: { printConfig?: boolean }) =>
      runner.alone(async () => (await import('../start.js')).startCommand(role ?? 'standalone', options)),
    );
  program
    .command('tokens')
    .helpCommand(false)
    .description('the tokens file of a cluster, which all gateways share')
    .command('create <file>')
    .description('create a tokens file with three random tokens (agent, me, worker), unless it exists')
    .addHelpText('after', '\nExample:\n  countersign tokens create /etc/countersign/tokens.json')
    .action(async (file: string, _options: unknown, command: Command) =>
      runner.operating(command, async (output) => (await import('../start.js')).createTokensCommand(output, file)),
    );
}
