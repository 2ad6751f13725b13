import type { Command } from 'commander';
import { Option } from 'commander';
import { count } from '../count-option.js';
import type { Runner } from '../runner.js';
import { time } from '../time-option.js';
import type { AuditErasuresOptions } from './audit-erasures.js';
import type { AuditLogOptions } from './audit-log.js';
import type { AuditShowOptions } from './audit-show.js';

/** `countersign audit log`, `countersign audit show` and `countersign audit state`. */
export function addAuditLog(audit: Command, runner: Runner): void {
  addSearch(audit, runner);
  audit
    .command('show <callId>')
    .description('show a call from its stream in the log, also as it was at a moment')
    .option('--as-of <time>', 'with the events up to that moment', time)
    .addOption(new Option('--values <values>', 'clear: hidden values too').choices(['masked', 'clear']))
    .addHelpText(
      'after',
      `
For auditors. It goes by the time of the record, inclusive.

Examples:
  countersign audit show tc_abcdefghijklmnopqrstuvwxyz --as-of 2026-11-03`,
    )
    .action(async (id: string, options: AuditShowOptions, command: Command) =>
      runner.asking(command, async (invocation) =>
        (await import('./audit-show.js')).auditShow(invocation, id, options),
      ),
    );
  addState(audit, runner);
  addErasures(audit, runner);
}

function addSearch(audit: Command, runner: Runner): void {
  audit
    .command('log')
    .description('search the log, and print or write what is found')
    .option('--actor <names>', 'who did it, or in whose place, under all their names')
    .option('--types <types>', 'types of events')
    .option('--tool <names>', 'tools')
    .option('--agent <ids>', 'agents')
    .option('--run <ids>', 'runs')
    .option('--call <ids>', 'calls')
    .option('--rule <ids>', 'rules of the policy that the events name')
    .option('--via <channels>', 'channels of responses')
    .option('--since <time>', 'recorded from then on', time)
    .option('--until <time>', 'recorded before then', time)
    .option('--newest', 'the newest first')
    .option('--limit <n>', 'at most so many (default: all)', count)
    .addOption(
      new Option('--values <values>', 'clear: hidden values too; stored: what audit verify reads').choices([
        ...['masked', 'clear', 'stored'],
      ]),
    )
    .addOption(new Option('--format <format>', 'a file').choices(['ndjson', 'csv', 'parquet', 'ocsf']))
    .option('-o, --output <file>', 'where to write it (default: stdout)')
    .addHelpText(
      'after',
      `
For auditors. Lists are separated by commas. Hidden values are masked; a read
of clear values is recorded. With --json, one event a line.

Examples:
  countersign audit log --actor alice --since 2026-11-01
  countersign audit log --types ApprovalResponded --format csv -o november.csv
  countersign audit log --values stored -o events.ndjson`,
    )
    .action(async (options: AuditLogOptions, command: Command) =>
      runner.asking(command, async (invocation) => (await import('./audit-log.js')).auditLog(invocation, options)),
    );
}

function addState(audit: Command, runner: Runner): void {
  audit
    .command('state')
    .description('show what was open, which grants and policy were in force, and who had which rights')
    .option('--as-of <time>', 'at that moment (default: now)', time)
    .addHelpText(
      'after',
      `
For auditors. It is read from the log, by the time of the record.

Examples:
  countersign audit state --as-of 2026-11-03T09:00:00Z
  countersign audit state --json | jq .rights`,
    )
    .action(async (options: { readonly asOf?: string }, command: Command) =>
      runner.asking(command, async (invocation) => (await import('./audit-state.js')).auditState(invocation, options)),
    );
}

function addErasures(audit: Command, runner: Runner): void {
  audit
    .command('erasures [subject]')
    .description('show the erasures, or those of a subject: by whom, when, why, and which fields')
    .option('--call <callId>', 'only those that were about values of this call')
    .addHelpText(
      'after',
      `
For auditors. The subject is the label \`subject\` of calls, or run: and the id of
a run. Exit code 0 too when there is none.

Examples:
  countersign audit erasures customer-42
  countersign audit erasures --call tc_abcdefghijklmnopqrstuvwxyz --json`,
    )
    .action(async (subject: string | undefined, options: AuditErasuresOptions, command: Command) =>
      runner.asking(command, async (invocation) =>
        (await import('./audit-erasures.js')).auditErasures(invocation, subject, options),
      ),
    );
}
