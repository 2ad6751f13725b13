import type { Command } from 'commander';
import type { Runner } from '../runner.js';
import { usageError } from '../cli-error.js';
import { time } from '../time-option.js';
import type { VerifyOptions } from '../audit/verify-log.js';

/** `countersign audit verify`. */
export function addAuditVerify(audit: Command, runner: Runner): void {
  audit
    .command('verify')
    .description('check a log against a checkpoint that you kept, and each event against the rules')
    .argument(
      '[source]',
      'a data folder, also of a running server, an event store, a bundle, an export, tiles or a proof (COUNTERSIGN_DATA)',
    )
    .option('--vkey <file>', 'the keys that you trust, one a line, as `countersign audit keys --all` printed them')
    .option('--policy <file>', 'witnesses that must have cosigned: a tlog-policy with `log` lines')
    .option('--since <checkpoint>', 'the checkpoints that you kept: a file, or the text')
    .option('--tsa-ca <file>', 'roots of the time stamping authorities that you trust, as PEM')
    .option('--require-timestamp', 'a log without a time stamp of them is a finding')
    .option('--tenant <tenant>', 'whose log; needed where the source has several')
    .option('--from <time>', 'judge the events recorded from then on; the tree is compared whole', time)
    .option('--to <time>', 'judge the events recorded before then', time)
    .option('--all', 'name every finding; without it the first one of each check')
    .addHelpText(
      'after',
      `
Works without a server and changes no file. An export has one event a line, in
its stored form. Tiles are a folder or an address; they have hashes of the
events alone. An event store (esdb://… or kurrentdb://…) is read up to its last
event. It keeps no checkpoint: give --since. What could not be proven is listed.
docs/audit.md says what a proof means.

Exits with 0 when the log is proven by a key that you trust, with 3 when it only
agrees with itself, with 1 when something is wrong, with 2 when it cannot be
read. With --json, one object a line: { check, ok, index, eventId, stream,
detail }, and { summary } at the end.

Examples:
  countersign audit verify --vkey keys.txt --since checkpoints.txt
  countersign audit verify /backup/data --vkey keys.txt --json --all
  countersign audit verify https://ledger.example.com/v1/log --vkey keys.txt
  countersign audit verify "$STORE_URL" --vkey keys.txt --since checkpoints.txt
  countersign audit verify november --vkey keys.txt --tsa-ca roots.pem
  countersign audit verify proof.json --policy policy.txt`,
    )
    .action(async (source: string | undefined, options: VerifyOptions, command: Command) =>
      runner.operating(command, async (output) => {
        const { token } = command.optsWithGlobals<{ token?: string }>();
        const given = { ...options, ...(token !== undefined && { token }) };
        if (source !== undefined && isStoreUrl(source)) {
          return (await import('./audit-verify-store.js')).verifyStore(output, source, given);
        }
        const { createStampJudge } = await import('../audit/judge-timestamps.js');
        const openJudge = createStampJudge(stampRootsOf(given));
        return (await import('./audit-verify.js')).verify(output, source, given, { openJudge });
      }),
    );
}

/** @throws CliError where a time stamp is demanded and no root is named: then none would be trusted */
function stampRootsOf({ tsaCa, requireTimestamp }: VerifyOptions): string | undefined {
  if (tsaCa !== undefined || requireTimestamp !== true) return tsaCa;
  throw usageError('--require-timestamp needs --tsa-ca.', 'Name the roots of the authorities that you trust.');
}

/** Returns whether a source is the address of an event store. */
function isStoreUrl(source: string): boolean {
  return /^(?:esdb|kurrentdb)(?:\+discover)?:\/\//i.test(source);
}
