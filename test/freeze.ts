import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Stops a process with SIGSTOP, and waits until each of its threads stands. One thread after the other gets to know of the signal:
 * on a busy machine the others answer requests for tens of milliseconds more.
 */
export async function freeze(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  while (!isFrozen(pid)) await sleep(1);
}

/** Freezes a process while something happens. It goes on in any case: one that nobody wakes would keep a whole run waiting. */
export async function whileFrozen<T>(pid: number, work: () => Promise<T>): Promise<T> {
  await freeze(pid);
  try {
    return await work();
  } finally {
    process.kill(pid, 'SIGCONT');
  }
}

/** Returns whether no thread of the process runs or can run. Only Linux tells; elsewhere true. */
export function isFrozen(pid: number): boolean {
  const threads = `/proc/${pid}/task`;
  return !existsSync(threads) || readdirSync(threads).every((thread) => !canRun(`${threads}/${thread}/stat`));
}

/** The letter after the name in parentheses: proc_pid_stat(5). */
function canRun(file: string): boolean {
  try {
    const stat = readFileSync(file, 'utf8');
    return 'RSDI'.includes(stat.charAt(stat.lastIndexOf(')') + 2));
  } catch {
    return false;
  }
}
