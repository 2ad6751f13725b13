import type { Command } from 'commander';
import type { Runner } from '../runner.js';
import type { SalvageOptions } from './audit-salvage.js';

/** `countersign audit salvage`. */
export function addAuditSalvage(audit: Command, runner: Runner): void {
  audit
    .command('salvage')
    .description('write what is sound of a damaged log, and list what is not')
    .argument('[folder]', 'a data folder, also of a running server (COUNTERSIGN_DATA)')
    .requiredOption('-o, --output <folder>', 'a new folder for what is found')
    .addHelpText(
      'after',
      `
Changes nothing in the data folder. It writes events.ndjson, the events that are
what was recorded, in their stored form; damaged.ndjson, each place that is
not; and touched.json, the calls and streams that are touched. Exits with 1
when something is damaged.

Examples:
  countersign audit salvage -o salvaged
  countersign audit salvage /backup/data -o salvaged --json | jq .calls`,
    )
    .action(async (folder: string | undefined, options: SalvageOptions, command: Command) =>
      runner.operating(command, async (output) =>
        (await import('./audit-salvage.js')).salvage(output, folder, options),
      ),
    );
}
