import { existsSync } from 'node:fs';
import type { ExitCode } from '../exit-codes.js';

const shell = '/bin/sh';
/** Work in the threads of Node, such as the lookup of a name. Node cannot stop it. */
const inThreads = /^(FSReq|GetAddrInfo|GetNameInfo)/;

/**
 * Ends the process when the texts have been written. Connections and timers that are still open do not keep it alive: an
 * agent that waits for the end of the process would run the tool after its own timeout.
 */
export async function exitWhenWritten(
  { stdout, stderr }: Readonly<Record<'stdout' | 'stderr', NodeJS.WritableStream>>,
  code: ExitCode,
): Promise<never> {
  for (const stream of [stdout, stderr]) await new Promise<void>((resolve) => stream.write('', () => resolve()));
  // The exit of Node waits for its threads. A shell in the place of the process does not.
  if (process.getActiveResourcesInfo().some((name) => inThreads.test(name)) && existsSync(shell))
    process.execve?.(shell, ['sh', '-c', `exit ${String(code)}`], {});
  return process.exit(code);
}
