import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { inheritedEnvironment } from '../../../../../test/process/harness/environment.js';
import { compilesWhenRead, installPython } from '../../../../../test/python-environment.js';
import type { Connect } from './tried-client.js';

export const pythonRequirements = join(import.meta.dirname, 'requirements.txt');

/** One process for all clients in Python, because the libraries take longer to load than to run. */
export interface PythonClients {
  readonly connect: (library: string) => Connect;
  readonly stop: () => Promise<void>;
}

/** Installs the official clients in Python, and starts the process. */
export async function startPythonClients(): Promise<PythonClients> {
  const python = await installPython('mcp-clients', pythonRequirements, compilesWhenRead);
  const file = join(import.meta.dirname, 'python_clients.py');
  const child = spawn(python, [file], { stdio: ['pipe', 'pipe', 'inherit'], env: inheritedEnvironment() });
  const replies = createInterface(child.stdout)[Symbol.asyncIterator]();
  /** One request at a time. */
  const ask = async (request: Readonly<Record<string, unknown>>): Promise<unknown> => {
    child.stdin.write(`${JSON.stringify(request)}\n`);
    const { value } = await replies.next();
    if (value === undefined) throw new Error('the process of the clients in Python has ended');
    const { error, result } = JSON.parse(value) as { readonly error?: string; readonly result?: unknown };
    if (error !== undefined) throw new Error(error);
    return result;
  };
  const connect =
    (library: string): Connect =>
    async (place) => {
      await ask({ do: 'connect', library, ...place });
      return {
        list: async () => (await ask({ do: 'list' })) as readonly string[],
        call: async (name, args) => (await ask({ do: 'call', name, arguments: args })) as string,
        close: async () => void (await ask({ do: 'close' })),
      };
    };
  return { connect, stop: () => stop(child) };
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const ended = once(child, 'exit');
  child.stdin?.end();
  await ended;
}
