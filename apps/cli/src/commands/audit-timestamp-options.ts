import type { Command } from 'commander';
import { count } from '../count-option.js';
import type { Runner } from '../runner.js';
import type { TimestampOptions } from './audit-timestamp.js';

/** `countersign audit timestamp`. */
export function addAuditTimestamp(audit: Command, runner: Runner): void {
  audit
    .command('timestamp')
    .description('write a time stamp of a checkpoint, which openssl verifies')
    .requiredOption('-o, --output <name>', 'the name of both files, without .tsr and .txt')
    .option('--size <events>', 'of the checkpoint with so many events; default: the newest', count)
    .addHelpText(
      'after',
      `
For auditors, where the operator names a time stamping authority. It writes two
files: NAME.tsr is the time stamp of RFC 3161, and NAME.txt the text of the
checkpoint, which is what was stamped.

Examples:
  countersign audit timestamp -o stamp
  openssl ts -verify -in stamp.tsr -data stamp.txt -CAfile roots.pem`,
    )
    .action(async (options: TimestampOptions, command: Command) =>
      runner.asking(command, async (invocation) =>
        (await import('./audit-timestamp.js')).timestamp(invocation, options),
      ),
    );
}
