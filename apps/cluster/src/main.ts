import { createLog, createSystemIds, systemClock } from '@countersign/runtime';
import type { Log } from '@countersign/runtime';
import { complain, endSoon, guardEdge, openTracing, printJson, reasonOf, say, stopSignal } from '@countersign/shell';
import { printableRoleConfig, readRoleConfig } from './config.js';
import type { Role, RoleConfig } from './config.js';
import type { RunningRole } from './start-role.js';

/** A running tool may need longer to stop than everything else. Its lease outlasts it in either case. */
const stopWithinMs = (role: Role): number => (role === 'resolver' ? 25_000 : 12_000);

/**
 * Runs one role until SIGINT or SIGTERM; a second signal ends it at once. Sets the exit code: 0 after a clean stop, 1
 * when it could not start or when only a new process can help.
 */
export async function main(role: Role, env: NodeJS.ProcessEnv = process.env): Promise<void> {
  let config: RoleConfig;
  let running: RunningRole | undefined;
  let log: Log;
  try {
    config = readRoleConfig(role, env);
    log = createLog({ level: config.logLevel, fields: { process: role } });
    guardEdge(`countersign ${role}`, log, async () => running?.leave());
    // Loaded here, so that a wrong configuration is reported before the clients load.
    const { startRole } = await import('./start-role.js');
    const tracing = await openTracing({ service: `countersign-${role}`, env, log });
    running = await startRole(role, config, { clock: systemClock, ids: createSystemIds(), log, tracing });
  } catch (error) {
    complain(`countersign ${role}: cannot start: ${reasonOf(error)}`);
    process.exitCode = 1;
    return;
  }
  say(`countersign ${role} answers at ${running.url}; ${running.url}/readyz says what it waits for`);
  const failure = await Promise.race([stopSignal().then(() => undefined), running.failed]);
  if (failure !== undefined) complain(`countersign ${role}: ends, to be started again: ${failure}`);
  const overdue = setTimeout(() => {
    complain(`countersign ${role}: not stopped in time; ending now. Nothing acknowledged is lost.`);
    process.exit(1);
  }, stopWithinMs(role));
  await running.stop().catch((error: unknown) => {
    log.error({ error }, 'the process did not stop cleanly');
    process.exitCode = 1;
  });
  clearTimeout(overdue);
  if (failure !== undefined) process.exit(1);
  say(`countersign ${role}: stopped`);
  endSoon();
}

/** Prints the effective configuration of a role as JSON, without its secrets. Sets exit code 1 where it is not usable. */
export function printConfig(role: Role, env: NodeJS.ProcessEnv = process.env): void {
  printJson(`countersign ${role}`, () => printableRoleConfig(role, env));
}
