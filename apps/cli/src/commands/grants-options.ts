import type { Command } from 'commander';
import { count } from '../count-option.js';
import type { Runner } from '../runner.js';
import type { CreateGrantOptions, GrantFilters } from './grants.js';

const limitDefault = 100;

/** `countersign grants …`: standing permissions for calls of a tool. */
export function addGrants(program: Command, runner: Runner): void {
  const grants = program
    .command('grants')
    .description('permit calls in advance; list and revoke such standing grants')
    .helpCommand(false)
    .addHelpText(
      'after',
      `
Examples:
  countersign grants list
  countersign grants create --tool refund_order --when 'args.amount <= 50' \\
    --agent billing-agent --for 8h --reason "a busy day" --dry-run
  countersign grants revoke grn_abcdefghijklmnopqrstuvwxyz`,
    );
  addList(grants, runner);
  addCreate(grants, runner);
  addRevoke(grants, runner);
  const one = [
    ['show', 'show a grant, with its uses', 'showGrant'],
    ['confirm', "confirm another person's pending grant of high risk", 'confirmGrant'],
  ] as const;
  for (const [name, description, run] of one) {
    grants
      .command(`${name} <grantId>`)
      .description(description)
      .addHelpText('after', `\nExample:\n  countersign grants ${name} grn_abcdefghijklmnopqrstuvwxyz`)
      .action(async (grantId: string, _options: unknown, command: Command) =>
        runner.asking(command, async (invocation) => (await import('./grants.js'))[run](invocation, grantId)),
      );
  }
}

function addRevoke(grants: Command, runner: Runner): void {
  grants
    .command('revoke <grantId>')
    .description('revoke a grant: it covers no call that is requested later')
    .option('--reason <text>', 'why: it is recorded')
    .addHelpText('after', `\nExample:\n  countersign grants revoke grn_abcdefghijklmnopqrstuvwxyz --reason over`)
    .action(async (grantId: string, options: { readonly reason?: string }, command: Command) =>
      runner.asking(command, async (invocation) =>
        (await import('./grants.js')).revokeGrant(invocation, grantId, options),
      ),
    );
}

function addList(grants: Command, runner: Runner): void {
  grants
    .command('list')
    .description('list the grants, newest first')
    .option('--state <state>', 'active, pending, expired, exhausted or revoked')
    .option('--tool <name>', 'this tool only')
    .option('--limit <n>', 'at most this many', count, limitDefault)
    .addHelpText('after', `\nWith --json, one grant per line.\n\nExample:\n  countersign grants list --state active`)
    .action(async (options: GrantFilters, command: Command) =>
      runner.asking(command, async (invocation) => (await import('./grants.js')).listGrants(invocation, options)),
    );
}

function addCreate(grants: Command, runner: Runner): void {
  grants
    .command('create')
    .description('permit calls of a tool that you could approve alone')
    .requiredOption('--tool <name>', 'the tool')
    .option('--any', 'all its calls')
    .option('--when <cel>', 'calls for which this CEL expression is true')
    .option('--exact <callId>', 'calls with exactly the arguments of this one')
    .option('--run <runId>', 'calls of this run only')
    .option('--agent <agentId>', 'calls of this agent only')
    .option('--principal <name>', 'calls of this principal only')
    .requiredOption('--for <time>', 'how long: 30m, 8h, 3d, at most 90d')
    .option('--max-uses <n>', 'how many calls', count)
    .requiredOption('--reason <text>', 'why; recorded')
    .option('--dry-run', 'create nothing; show which recorded calls it would have covered')
    .addHelpText(
      'after',
      `
Give one of --any, --when and --exact. It covers no blocked call, none that
needs more than one person, and none of a higher risk than today's rules name.
A grant of high risk is pending until another person confirms it.

Examples:
  countersign grants create --tool read_file --any --run run-42 --for 1h \\
    --reason "reviewed the plan"
  countersign grants create --tool refund_order --when 'args.amount <= 50' \\
    --for 8h --max-uses 20 --reason "a busy day" --dry-run`,
    )
    .action(async (options: CreateGrantOptions, command: Command) =>
      runner.asking(command, async (invocation) => (await import('./grants.js')).createGrant(invocation, options)),
    );
}
