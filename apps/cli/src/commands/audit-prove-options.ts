import { Option } from 'commander';
import type { Command } from 'commander';
import type { Runner } from '../runner.js';
import type { ProveOptions } from './audit-prove.js';

/** `countersign audit prove`. */
export function addAuditProve(audit: Command, runner: Runner): void {
  audit
    .command('prove')
    .description('write a file that proves what the log says of a call')
    .argument('<call>', 'the id of the call')
    .option('-o, --output <file>', 'where to write it; default: the standard output')
    .addOption(
      new Option('--values <values>', 'clear: also those stored without a seal; recorded').choices(['stored', 'clear']),
    )
    .addHelpText(
      'after',
      `
For auditors. The file has every event of the call, a proof that each is in the
log, the signed checkpoint and the policies that judged it. It needs no server
to be checked: countersign audit verify FILE --vkey keys.txt.

Examples:
  countersign audit prove tc_3q5kq2m7w4z6x8r9t1v2b3n4 -o proof.json`,
    )
    .action(async (call: string, options: ProveOptions, command: Command) =>
      runner.asking(command, async (invocation) => (await import('./audit-prove.js')).prove(invocation, call, options)),
    );
}
