import { usageError } from './cli-error.js';
import type { ExitCode } from './exit-codes.js';
import { exitCodes } from './exit-codes.js';

/** What `countersign start` can be told to start. */
export const roles = ['standalone', 'gateway', 'ledger', 'relay', 'projector', 'resolver', 'notifier'] as const;

/**
 * `countersign start [role]`. Only here the server's code is loaded, so that every other command starts fast.
 * Resolves when the server has stopped.
 */
export async function startCommand(role: string): Promise<ExitCode> {
  if (!(roles as readonly string[]).includes(role)) {
    throw usageError(`There is no process "${role}".`, `Known are: ${roles.join(', ')}.`);
  }
  if (role !== 'standalone') {
    throw usageError(
      `"${role}" is not part of this release yet.`,
      'Run everything in one process: `countersign start`.',
    );
  }
  const { main } = await import('@countersign/standalone');
  await main();
  return exitCodes.ok;
}
