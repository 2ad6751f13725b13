import type { Log } from '@countersign/runtime';
import { complain } from './process-entry.js';

/** How long HTTP requests in flight may take at shutdown. */
const leaveMs = 2_000;

let escaped = 0;

/** The number of errors that escaped from libraries in this process. */
export function escapedErrors(): number {
  return escaped;
}

/**
 * Handles errors that escape from a library: logs each with its cause and counts it. After the first one the process
 * accepts no more requests, finishes those in flight, and ends with exit code 1. The rest is left as by a kill: a
 * message whose handler caused the error must count as one that crashed its process.
 * @param leave stops accepting requests; resolves when those in flight are finished.
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
