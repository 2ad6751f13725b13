import type { Command } from 'commander';
import type { Runner } from '../runner.js';
import { time } from '../time-option.js';
import type { ReportOptions } from './audit-report.js';

/** `countersign audit report`. */
export function addAuditReport(audit: Command, runner: Runner): void {
  audit
    .command('report')
    .description('write who approved what, and the exceptions, as a page to print and as CSV')
    .requiredOption('-o, --output <folder>', 'a new folder')
    .option('--since <time>', 'events recorded from then on', time)
    .option('--until <time>', 'events recorded before then', time)
    .addHelpText(
      'after',
      `
For auditors. index.html has every figure with its list: decisions and what was
shown, fast approvals, answers to many calls at once, approvals after an edit,
delegates, silence, looks at hidden values, unknown outcomes, changes of rights
and rules. Each list is a CSV file, too. Hidden values are masked.

Examples:
  countersign audit report -o november --since 2026-11-01 --until 2026-12-01
  countersign audit report -o all --json | jq .rows`,
    )
    .action(async (options: ReportOptions, command: Command) =>
      runner.asking(command, async (invocation) => (await import('./audit-report.js')).report(invocation, options)),
    );
}
