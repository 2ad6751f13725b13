import type { Command } from 'commander';
import { indexOption } from '../count-option.js';
import type { Runner } from '../runner.js';
import type { CutOptions } from './audit-cut.js';

/** `countersign audit cut`. */
export function addAuditCut(audit: Command, runner: Runner): void {
  audit
    .command('cut')
    .description('give up the end of a damaged log, after a copy of it')
    .argument('[folder]', 'the data folder of a stopped server (COUNTERSIGN_DATA)')
    .requiredOption('--at <index>', 'the first damaged event, as `audit verify` names it', indexOption)
    .requiredOption('-o, --output <folder>', 'a new folder for a copy of the whole log')
    .option('--tenant <name>', 'the tenant whose events `--at` counts')
    .addHelpText(
      'after',
      `
For the operator, where no backup is whole. All events from the damaged one on
are given up, of all tenants. Tools of their calls may have run. A log without
damage is not cut, and neither is a sound event before the damage.

It copies the log first, for \`audit salvage\` and for auditors. The next start
is refused until it names the end of the log with COUNTERSIGN_ACCEPT_LOG_END.
That start records the loss, and the log goes on as the next epoch.

Examples:
  countersign audit cut --at 5120 -o lost
  countersign audit cut /srv/countersign --tenant acme --at 5120 -o lost`,
    )
    .action(async (folder: string | undefined, options: CutOptions, command: Command) =>
      runner.operating(command, async (output) => (await import('./audit-cut.js')).cut(output, folder, options)),
    );
}
