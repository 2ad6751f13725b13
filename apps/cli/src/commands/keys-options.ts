import type { Command } from 'commander';
import type { Runner } from '../runner.js';
import type { RotateOptions } from './keys.js';

const explained = `
The keys are keys.db in COUNTERSIGN_DATA (default ./data), which must not be in
use: stop the server first. Without --to, root.key in that folder is replaced. A
root key of your own (COUNTERSIGN_ROOT_KEY_FILE) is never changed: make another
one, name it with --to, and set the variable to it before the next start. Copies
of the old root key open older backups of keys.db: destroy them.`;

/** `countersign keys`: the keys of sensitive values. */
export function addKeys(program: Command, runner: Runner): void {
  const keys = program
    .command('keys')
    .description('the keys of sensitive values')
    .helpCommand(false)
    .addHelpText('after', `${explained}\n\nExamples:\n  countersign keys rotate\n  countersign keys rotate --json`);
  keys
    .command('rotate')
    .description('wrap all keys with a new root key; the old one then opens nothing in the data folder')
    .option('--to <file>', 'the new root key, 32 bytes as base64 or hex')
    .addHelpText(
      'after',
      `${explained}

Examples:
  countersign keys rotate
  countersign keys rotate --to /etc/countersign/root-2.key --json`,
    )
    .action(async (options: RotateOptions, command: Command) =>
      runner.operating(command, async (output) => (await import('./keys.js')).rotate(output, options)),
    );
}
