import { Option } from 'commander';
import type { Command } from 'commander';
import type { Runner } from '../runner.js';
import type { ExportOptions } from './audit-export.js';

/** `countersign audit export`. */
export function addAuditExport(audit: Command, runner: Runner): void {
  audit
    .command('export')
    .description('write the log as a bundle that an auditor can verify without you')
    .argument('[folder]', 'a data folder, also of a running server (COUNTERSIGN_DATA)')
    .requiredOption('-o, --output <path>', 'a new folder, or a file that ends with .zip')
    .option('--tenant <tenant>', 'whose log; needed where the folder has several')
    .addOption(
      new Option('--values <form>', 'clear: also show events that were recorded with secrets in clear')
        .choices(['stored', 'clear'])
        .default('stored'),
    )
    .addHelpText(
      'after',
      `
Works without a server and changes nothing in the data folder. The bundle has
every event in its stored form, masked views as NDJSON, CSV and Parquet, the
policies, the tree, the newest checkpoint, and the program that verifies it. It
ends with that checkpoint: later events are left out. Sealed values stay sealed.
An export that was interrupted is continued by the same command.

Examples:
  countersign audit export -o november
  countersign audit export /backup/data -o november.zip --tenant acme`,
    )
    .action(async (folder: string | undefined, options: ExportOptions, command: Command) =>
      runner.operating(command, async (output) =>
        (await import('./audit-export.js')).exportLog(output, folder, options),
      ),
    );
}
