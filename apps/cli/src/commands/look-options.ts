import type { Command } from 'commander';
import { InvalidArgumentError, Option } from 'commander';
import { count } from '../count-option.js';
import type { Runner } from '../runner.js';
import { time } from '../time-option.js';
import type { ApprovalFilters } from './list.js';
import type { OversightCommand } from './oversight.js';
import type { ShowOptions } from './show.js';
import type { TailOptions } from './tail.js';

const states = ['pending', 'approved', 'denied', 'expired', 'cancelled'];

/** The commands that look and change nothing. */
export function addLookCommands(program: Command, runner: Runner): void {
  addList(program, runner);
  addShowAndRun(program, runner);
  addTail(program, runner);
  addOversight(program, runner);
  addLog(program, runner);
  program
    .command('status')
    .description('show whether the server is ready, its version, and the number and age of pending approvals')
    .addHelpText(
      'after',
      `
Exits with 0 when it is ready, 3 when it cannot be reached, 4 when you are not
signed in, 7 when it is not ready.

Examples:
  countersign status
  countersign status --json | jq .pending
  countersign status --url https://countersign.example.com`,
    )
    .action(async (_options: unknown, command: Command) =>
      runner.asking(command, async (invocation) => (await import('./status.js')).status(invocation)),
    );
}

function addList(program: Command, runner: Runner): void {
  program
    .command('list')
    .description('list the approvals that are pending, or in another state')
    .addOption(new Option('--state <state>', 'the state of the approvals').choices(states).default('pending'))
    .option('--tool <name>', 'this tool only')
    .option('--run <runId>', 'this run only')
    .option('--agent <agentId>', 'this agent only')
    .option('--group <name>', 'approvals that this group may answer')
    .option('--mine', 'approvals that you may decide now')
    .option('--responded-by <principal>', 'approvals that this person has answered')
    .option('--rule <ruleId>', 'approvals that this rule of the policy asks for')
    .addOption(new Option('--risk <risk>', 'approvals of this risk').choices(['low', 'medium', 'high']))
    .option('--label <name=value>', 'calls with this label; repeatable', label)
    .option('--since <time>', 'requested at this time or later', time)
    .option('--until <time>', 'requested at this time or earlier', time)
    .option('--search <words>', 'words in the tool, agent, run, reason and description')
    .addOption(
      new Option('--sort <order>', 'the highest risk, the first to expire, or the oldest first').choices([
        'risk',
        'expiresAt',
        'requestedAt',
      ]),
    )
    .option('--limit <n>', 'at most this many (default: all)', count)
    .addHelpText(
      'after',
      `
What is pending comes in the order of the inbox: the highest risk first, within
one the first to expire, and the calls of one step together; with --sort, each
alone. Other states: the oldest first. With --json, one approval per line, each
alone.

Examples:
  countersign list
  countersign list --mine --sort expiresAt
  countersign list --state denied --tool delete_file
  countersign list --label team=ops --search "invoice customer"
  countersign list --json | jq -r .approvalId`,
    )
    .action(async (options: ApprovalFilters & { limit?: number }, command: Command) =>
      runner.asking(command, async (invocation) => (await import('./list.js')).list(invocation, options)),
    );
}

function label(text: string, before: readonly string[] = []): readonly string[] {
  if (!/^[^=]+=/.test(text)) throw new InvalidArgumentError('Must be a name, "=" and a value, such as team=ops.');
  return [...before, text];
}

function addShowAndRun(program: Command, runner: Runner): void {
  program
    .command('show <callId>')
    .description('show a call: its state, its arguments and result, and each event')
    .addOption(new Option('--values <values>', 'clear: hidden values too, for auditors').choices(['masked', 'clear']))
    .option('--as-of <time>', 'as it was then, for auditors', time)
    .addHelpText(
      'after',
      `
Takes the id of a call or of one of its approvals. Sensitive values are masked.
An auditor sees them with --values clear, which is recorded.

Examples:
  countersign show tc_abcdefghijklmnopqrstuvwxyz
  countersign show tc_abcdefghijklmnopqrstuvwxyz --as-of 2026-11-03T09:00:00Z
  countersign show apr_abcdefghijklmnopqrstuvwxyz_1
  countersign show tc_abcdefghijklmnopqrstuvwxyz --json | jq .call.state`,
    )
    .action(async (id: string, options: ShowOptions, command: Command) =>
      runner.asking(command, async (invocation) => (await import('./show.js')).show(invocation, id, options)),
    );
  program
    .command('run <runId>')
    .description('show the calls of a run, and what it waits for')
    .addHelpText('after', '\nExamples:\n  countersign run run-42\n  countersign run run-42 --json | jq .stopReason')
    .action(async (id: string, _options: unknown, command: Command) =>
      runner.asking(command, async (invocation) => (await import('./act.js')).run(invocation, id)),
    );
}

function addTail(program: Command, runner: Runner): void {
  program
    .command('tail')
    .description('follow the events as they are recorded; reconnects after a lost connection')
    .option('--run <runId>', 'this run only')
    .option('--call <callId>', 'this call only')
    .option('--types <types>', 'these event types only, separated by commas')
    .option('--after <position>', 'start after this position; 0 for the first event (default: now)')
    .option('--limit <n>', 'end after this many events', count)
    .addHelpText(
      'after',
      `
With --json, one event per line. The position of each is in "position".

Examples:
  countersign tail
  countersign tail --types ApprovalRequested,ApprovalResponded
  countersign tail --call tc_abcdefghijklmnopqrstuvwxyz --after 0
  countersign tail --types ExecutionFailed --json | notify-ops`,
    )
    .action(async (options: TailOptions, command: Command) =>
      runner.asking(command, async (invocation) => (await import('./tail.js')).tail(invocation, options)),
    );
}

function addLog(program: Command, runner: Runner): void {
  program
    .command('log')
    .description('look at the log of the server')
    .helpCommand(false)
    .addHelpText('after', '\nExamples:\n  countersign log unreadable')
    .command('unreadable')
    .description('list the streams with an event that the server cannot read; nothing is decided or run on them')
    .addHelpText(
      'after',
      `
For auditors and admins. A later version of Countersign may have written such
an event: upgrade the server. Otherwise restore the store from a backup.

Examples:
  countersign log unreadable
  countersign log unreadable --json | jq -r .stream`,
    )
    .action(async (_options: unknown, command: Command) =>
      runner.asking(command, async (invocation) => (await import('./unreadable.js')).unreadable(invocation)),
    );
}

function addOversight(program: Command, runner: Runner): void {
  program
    .command('oversight')
    .description('show how people decided in a period: how many, how fast, how many denials')
    .addOption(
      new Option('--by <grouping>', 'one row for each').choices(['approver', 'tool', 'rule']).default('approver'),
    )
    .option('--from <time>', 'the start of the period, inclusive (default: 30 days before --to)', time)
    .option('--to <time>', 'the end of the period, exclusive (default: now)', time)
    .option('--fast-ms <ms>', 'an approval within this time is fast (default: by the length of the arguments)', count)
    .option('--csv', 'a table for a spreadsheet')
    .addHelpText(
      'after',
      `
Auditors and admins see the figures of all people, approvers their own. "fast"
is a hint to look closer, not a proof: docs/oversight.md explains the figures.

Examples:
  countersign oversight
  countersign oversight --by rule --from 2026-11-01 --to 2026-12-01
  countersign oversight --by tool --csv > oversight.csv
  countersign oversight --json | jq '.rows[] | select(.fastApprovals > 0)'`,
    )
    .action(async (options: OversightCommand, command: Command) =>
      runner.asking(command, async (invocation) => (await import('./oversight.js')).oversight(invocation, options)),
    );
}
