import type { Log } from '@countersign/runtime';
import { complain } from './process-entry.js';

/** How long what is in flight over HTTP may take to end. */
const leaveMs = 2_000;

let escaped = 0;

/** How many errors have escaped from libraries in this process. */
export function escapedErrors(): number {
  return escaped;
}

/**
 * Guards the edge of a process: an error that escapes from a library, where nobody can catch it, is logged with its cause
 * and counted. After the first one the process takes no more requests, answers those that it has, and ends with exit
 * code 1. The rest it leaves as a kill would: a message whose handler did this must count as one that ended its process.
 * @param leave stops taking requests; resolves when those in flight are answered.
 */
export function guardEdge(name: string, log: Log, leave: () => Promise<unknown>): void {
  const note = (error: unknown): void => {
    escaped += 1;
    log.error({ error, escaped }, 'an error escaped from a library');
    if (escaped > 1) return;
    complain(`${name}: ends, to be started again: ${error instanceof Error ? error.message : String(error)}`);
    const end = (): void => process.exit(1);
    setTimeout(end, leaveMs);
    leave().then(end, end);
  };
  process.on('uncaughtException', note);
  process.on('unhandledRejection', note);
}
