import type { Command } from 'commander';
import type { Runner } from '../runner.js';

const explained = `
COUNTERSIGN_EVENTSTORE_URL names the service's own user:
esdb://user:password@host:2113. Connection strings are read from the
environment only. To try a right, nothing that exists is changed: each try
names a stream that does not exist, or a revision that is never reached.

Exits with 0 when every right is correct, with 1 when one is missing or goes too
far, with 2 when the server cannot be asked.`;

/** `countersign store`: rights in EventStoreDB. */
export function addStore(program: Command, runner: Runner): void {
  const store = program
    .command('store')
    .description("grant the service's user its rights in EventStoreDB, and prove them")
    .helpCommand(false)
    .addHelpText('after', `${explained}\n\nExamples:\n  countersign store secure\n  countersign store check --json`);
  store
    .command('secure')
    .description("create or update the service's user and its rights, then prove them")
    .addHelpText(
      'after',
      `${explained}

COUNTERSIGN_EVENTSTORE_ADMIN_URL names an admin of the store.

Examples:
  countersign store secure
  countersign store secure --json`,
    )
    .action(async (_options: unknown, command: Command) =>
      runner.operating(command, async (output) => (await import('./store.js')).secure(output)),
    );
  store
    .command('check')
    .description("prove the rights of the service's user; changes nothing")
    .addHelpText('after', `${explained}\n\nExamples:\n  countersign store check\n  countersign store check --json`)
    .action(async (_options: unknown, command: Command) =>
      runner.operating(command, async (output) => (await import('./store.js')).check(output)),
    );
}
