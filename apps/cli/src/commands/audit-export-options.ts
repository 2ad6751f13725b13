import { Option } from 'commander';
import type { Command } from 'commander';
import type { ExitCode } from '../exit-codes.js';
import type { Invocation, Output } from '../invocation.js';
import type { Runner } from '../runner.js';
import type { ExportOptions } from './audit-export.js';

/** `countersign audit export`. */
export function addAuditExport(audit: Command, runner: Runner): void {
  audit
    .command('export')
    .description('write the log as a bundle that an auditor can verify without you')
    .argument('[source]', 'a data folder, also of a running server (COUNTERSIGN_DATA), or a server')
    .requiredOption('-o, --output <path>', 'a new folder, or a file that ends with .zip')
    .option('--tenant <tenant>', 'whose log; needed where the folder has several')
    .addOption(
      new Option('--values <form>', 'clear: also show events that were recorded with secrets in clear')
        .choices(['stored', 'clear'])
        .default('stored'),
    )
    .option('--pending', 'end with the newest checkpoint, also without the quorum of witnesses')
    .addHelpText(
      'after',
      `
Works without a server and changes nothing in the data folder. The bundle has
every event in its stored form, masked views as NDJSON, CSV and Parquet, the
policies, the tree, the newest checkpoint, and the program that verifies it. It
ends with that checkpoint: later events are left out. Sealed values stay sealed.
An export that was interrupted is continued by the same command. From the
address of a server it needs the token of an auditor, and is recorded.

Examples:
  countersign audit export -o november
  countersign audit export /backup/data -o november.zip --tenant acme
  countersign audit export https://ledger.example.com -o november`,
    )
    .action(async (source: string | undefined, options: ExportOptions, command: Command) => {
      const work = async (output: Output | Invocation): Promise<ExitCode> =>
        (await import('./audit-export.js')).exportLog(output, source, options);
      if (source === undefined || !/^https?:/.test(source)) return runner.operating(command, work);
      // The token goes to that address alone, also where --url names another one.
      rootOf(command).setOptionValue('url', source);
      return runner.asking(command, work);
    });
}

function rootOf(command: Command): Command {
  return command.parent === null ? command : rootOf(command.parent);
}
