import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Faults } from './faults.ts';

/** The options of its start. */
export interface ServerProcessOptions {
  readonly port?: number;
  readonly folder?: string;
}

/**
 * The server in a separate process: it can be killed, and its generated code does not conflict with that of a newer
 * client.
 */
export interface ServerProcess {
  readonly port: number;
  readonly url: string;
  /** The port of its control API. */
  readonly controlPort: number;
  readonly setFaults: (faults: Faults) => Promise<void>;
  readonly calls: () => Promise<readonly string[]>;
  /** Ends it, by SIGKILL by default, and waits until it has ended. */
  readonly stop: (signal?: NodeJS.Signals) => Promise<void>;
}

/** Starts it and waits until it listens. */
export async function startServerProcess({ port = 0, folder }: ServerProcessOptions = {}): Promise<ServerProcess> {
  const data = folder === undefined ? [] : ['--data', folder];
  const child = spawn(
    process.execPath,
    [join(import.meta.dirname, 'main.ts'), '--port', String(port), '--control', '0', ...data],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const exited = once(child, 'exit');
  const [line] = (await Promise.race([
    once(child.stdout, 'data'),
    exited.then(() => {
      throw new Error('the server ended before it listened');
    }),
  ])) as [Buffer];
  const started = JSON.parse(line.toString()) as { url: string; port: number; control: number };
  const order = async (path: string, method: string, body?: string): Promise<unknown> => {
    const response = await fetch(`http://127.0.0.1:${started.control}${path}`, {
      method,
      ...(body === undefined ? {} : { body }),
    });
    return response.json();
  };
  return {
    port: started.port,
    url: started.url,
    controlPort: started.control,
    setFaults: async (faults) => void (await order('/faults', 'PUT', JSON.stringify(faults))),
    calls: async () => (await order('/calls', 'GET')) as readonly string[],
    stop: async (signal = 'SIGKILL') => {
      child.kill(signal);
      await exited;
    },
  };
}
