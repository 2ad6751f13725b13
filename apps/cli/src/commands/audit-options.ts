import type { Command } from 'commander';
import type { Runner } from '../runner.js';
import { addAuditCut } from './audit-cut-options.js';
import { addAuditExport } from './audit-export-options.js';
import { addAuditLog } from './audit-log-options.js';
import { addAuditReport } from './audit-report-options.js';
import { addAuditProve } from './audit-prove-options.js';
import { addAuditSalvage } from './audit-salvage-options.js';
import { addAuditTimestamp } from './audit-timestamp-options.js';
import { addAuditVerify } from './audit-verify-options.js';
import type { CheckpointOptions, ContinueOptions, KeysOptions } from './audit.js';

/** The commands of auditors. */
export function addAudit(program: Command, runner: Runner): void {
  const audit = program
    .command('audit')
    .description('prove what the log says')
    .helpCommand(false)
    .addHelpText(
      'after',
      '\nExamples:\n  countersign audit checkpoint\n  countersign audit verify --vkey keys.txt --since checkpoints.txt',
    );
  audit
    .command('checkpoint')
    .description('print the newest signed checkpoint of the log')
    .option('--now', 'sign one first that covers every event that is recorded now')
    .option('--pending', 'the newest one, also without the quorum of witnesses')
    .addHelpText(
      'after',
      `
For auditors. Keep it in a place that the operator cannot change: with it you
can prove later that no event before it was changed, removed or inserted.

Examples:
  countersign audit checkpoint >> checkpoints.txt
  countersign audit checkpoint --now --json | jq -r .size`,
    )
    .action(async (options: CheckpointOptions, command: Command) =>
      runner.asking(command, async (invocation) => (await import('./audit.js')).checkpoint(invocation, options)),
    );
  addAuditTimestamp(audit, runner);
  audit
    .command('keys')
    .description('print the public keys that verify the checkpoints, the present one first')
    .option('--all', 'the ML-DSA-44 keys too')
    .addHelpText(
      'after',
      `
For auditors. Keep them like the checkpoints. A key that you did not keep
proves nothing.

Examples:
  countersign audit keys --all > countersign.vkeys
  countersign audit keys --json | jq -r '.keys[0]'`,
    )
    .action(async (options: KeysOptions, command: Command) =>
      runner.asking(command, async (invocation) => (await import('./audit.js')).keys(invocation, options)),
    );
  audit
    .command('continue')
    .description('go on with a log that contradicts what was signed')
    .requiredOption('--reason <text>', 'why; it is recorded')
    .addHelpText(
      'after',
      `
For admins, after \`log-rewound\`: the log was restored from a backup, or lost its
end. It goes on as the next epoch, with a new origin. \`audit verify\` shows
auditors for ever that the epoch before ended otherwise.

After a start with COUNTERSIGN_ACCEPT_LOG_END it records that you know of the
loss, and later starts do not warn of it any more.

Examples:
  countersign audit continue --reason 'restored from the backup of Monday'
  countersign audit keys`,
    )
    .action(async (options: ContinueOptions, command: Command) =>
      runner.asking(command, async (invocation) => (await import('./audit.js')).continueLog(invocation, options)),
    );
  addAuditProve(audit, runner);
  addAuditLog(audit, runner);
  addAuditVerify(audit, runner);
  addAuditExport(audit, runner);
  addAuditReport(audit, runner);
  addAuditSalvage(audit, runner);
  addAuditCut(audit, runner);
}
