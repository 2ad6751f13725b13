import type { Command } from 'commander';
import type { Runner } from '../runner.js';
import type { BackupOptions } from './backup.js';
import type { RestoreOptions } from './restore.js';

/** `countersign backup` and `countersign restore`. */
export function addBackup(program: Command, runner: Runner): void {
  program
    .command('backup')
    .description('copy the embedded log, also while the server runs, and verify the copy')
    .argument('[folder]', 'the data folder (COUNTERSIGN_DATA)')
    .requiredOption(
      '-o, --output <folder>',
      'the folder of the backups; each one gets a folder in it, named by its time',
    )
    .option('--keys <folder>', 'copy the keys too, into this folder, which is not one of the backups')
    .addHelpText(
      'after',
      `
The copy has the log and its checkpoints, a manifest with digests, and no keys.
It begins with the newest backup in the folder, so only newer events are read
from the log. It is complete when its folder has a name without ".part": a
command that is killed leaves earlier backups as they were.

Examples:
  countersign backup -o /mnt/backup/log --keys /mnt/keys
  countersign backup /srv/countersign -o /mnt/backup/log --json`,
    )
    .action(async (folder: string | undefined, options: BackupOptions, command: Command) =>
      runner.operating(command, async (output) => (await import('./backup.js')).backup(output, folder, options)),
    );
  program
    .command('restore')
    .description('restore the embedded log from a backup, or try it: what is lost, and what could run twice')
    .argument('<backup>', 'a backup, the folder of backups (the newest one), or a copy by `sqlite3 .backup`')
    .option('--drill', 'write nothing: verify, and say what a restore would mean')
    .option('--to <folder>', 'the new data folder, empty or missing (COUNTERSIGN_DATA)')
    .option('--keys <folder>', 'the newest copy of the keys')
    .option('--lost <folder>', 'what is left of the old data folder: its checkpoints and positions say what is lost')
    .option('--checkpoint <file...>', 'checkpoints that were kept elsewhere')
    .option('--reason <text>', 'why; recorded in the log')
    .addHelpText(
      'after',
      `
The next start records LogRestored before anything else. Nothing that was
permitted before runs without a new response: a claimed call is unknown, people
are asked again about one that was approved or allowed, and grants end. Until
an admin says that they know (countersign audit continue --reason TEXT), people
are asked about every new call. Exits with 1 where the backup is damaged.

Examples:
  countersign restore /mnt/backup/log --drill --lost data
  countersign restore /mnt/backup/log --keys /mnt/keys --to data-new \\
    --lost data --reason "the disk of the server was lost"`,
    )
    .action(async (backup: string, options: RestoreOptions, command: Command) =>
      runner.operating(command, async (output) => (await import('./restore.js')).restore(output, backup, options)),
    );
}
