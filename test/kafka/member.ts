import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** A separate process that uses Kafka through the built product. */
export interface Member {
  /** Its output so far, in lines. */
  readonly said: readonly string[];
  readonly tell: (line: string) => void;
  /** Resolves when the process has ended in any way. */
  readonly ended: Promise<unknown>;
  readonly pid: number;
  /** Ends it by this signal and waits until it is gone. */
  readonly end: (signal?: NodeJS.Signals) => Promise<void>;
}

/** Starts `members/<name>.ts`. */
export function startMember(name: string, ...args: readonly string[]): Member {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'members', `${name}.ts`), ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  // Not `exit`: its last lines may not have arrived by then.
  const exited = once(child, 'close');
  const said: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => said.push(line));
  return {
    said,
    ended: exited,
    tell: (line) => void child.stdin.write(`${line}\n`),
    pid: child.pid ?? 0,
    end: async (signal = 'SIGKILL') => {
      child.kill('SIGCONT');
      child.kill(signal);
      await exited;
    },
  };
}
