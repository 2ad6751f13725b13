import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { onCleanup } from './cleanup.js';
import { inheritedEnvironment } from './environment.js';
import { createHttp } from './http.js';
import type { Http } from './http.js';
import { within } from './wait.js';
import { setTimeout as sleep } from 'node:timers/promises';

const cli = join(import.meta.dirname, '..', '..', '..', 'apps', 'cli', 'bin', 'countersign.js');
/**
 * Room for the objects of a start, so that V8 does not copy them again and again: a sixth of what a start costs. A spec that sets
 * NODE_OPTIONS, for example to limit the memory, gets Node's own sizes.
 */
export const roomForStart: readonly string[] = ['--min-semi-space-size=64', '--max-semi-space-size=64'];
/** Far from what a start needs: a busy machine must not end the wait. */
const readyWithinMs = 150_000;
const outputCharactersMax = 200_000;
const quotedCharactersMax = 4000;

/** How a process ended. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** The options of a process's start. */
export interface ServerOptions {
  readonly folder: string;
  readonly port: number;
  /** The command. Default: `start standalone`. */
  readonly args?: readonly string[];
  /** On top of folder and port; nothing else of the runner's `COUNTERSIGN_…` gets through. */
  readonly env?: Readonly<Record<string, string>>;
}

/** A started process, ready or not. */
export interface Server {
  readonly pid: number;
  readonly http: Http;
  /** Resolves when `/readyz` is green; rejects with the output when the process ends before. */
  readonly ready: () => Promise<void>;
  /** Everything that it printed, both streams. */
  readonly output: () => string;
  readonly exited: Promise<Exit>;
  readonly kill: (signal: NodeJS.Signals) => void;
  /** Sends the signal and waits for the end. */
  readonly stop: (signal?: NodeJS.Signals) => Promise<Exit>;
}

/** Starts `countersign start standalone`, or what else is named, as users do. It is killed after the test when it still runs. */
export function startServer(options: ServerOptions): Server {
  const room = options.env?.['NODE_OPTIONS'] === undefined ? roomForStart : [];
  const child = spawn(process.execPath, [...room, cli, ...(options.args ?? ['start', 'standalone'])], {
    cwd: options.folder,
    env: environmentOf(options),
    // With the channel and COUNTERSIGN_LAUNCHED the process notices when its runner was killed.
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const output = capture(child);
  const exited = new Promise<Exit>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      resolve({ code, signal });
    });
  });
  const http = createHttp(options.port);
  const server: Server = {
    pid: child.pid ?? 0,
    http,
    ready: () => waitUntilReady(http, exited, output),
    output,
    exited,
    kill: (signal) => void child.kill(signal),
    stop: async (signal = 'SIGTERM') => {
      child.kill(signal);
      const exit = await within(40_000, exited);
      if (exit === undefined) throw new Error(`the process did not stop on ${signal}; it printed:\n${endOf(output())}`);
      return exit;
    },
  };
  onCleanup(async () => {
    http.close();
    child.kill('SIGKILL');
    await exited;
  });
  return server;
}

/** The end of what a process printed, for the message of an error. */
export function endOf(output: string): string {
  return output.slice(-quotedCharactersMax);
}

/** Starts a process and waits until it is ready. */
export async function startReadyServer(options: ServerOptions): Promise<Server> {
  const server = startServer(options);
  await server.ready();
  return server;
}

function environmentOf({ folder, port, env = {} }: ServerOptions): NodeJS.ProcessEnv {
  return {
    ...inheritedEnvironment(),
    COUNTERSIGN_LAUNCHED: '1',
    COUNTERSIGN_DATA: join(folder, 'data'),
    COUNTERSIGN_PORT: String(port),
    COUNTERSIGN_LOG_LEVEL: 'warn',
    ...env,
  };
}

function capture(child: ChildProcess): () => string {
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8');
    stream?.on('data', (chunk: string) => {
      text = (text + chunk).slice(-outputCharactersMax);
    });
  }
  return () => text;
}

async function waitUntilReady(http: Http, exited: Promise<Exit>, output: () => string): Promise<void> {
  let exit: Exit | undefined;
  void exited.then((ended) => {
    exit = ended;
  });
  const giveUpAt = performance.now() + readyWithinMs;
  for (;;) {
    const answer = await http.send({ method: 'GET', path: '/readyz', timeoutMs: 10_000 }).catch(() => undefined);
    if (exit !== undefined) {
      throw new Error(
        `the process ended (${JSON.stringify(exit)}) before it was ready; it printed:\n${endOf(output())}`,
      );
    }
    if (answer?.status === 200) return;
    if (performance.now() > giveUpAt)
      throw new Error(`not ready after ${readyWithinMs} ms; it printed:\n${endOf(output())}`);
    await sleep(20);
  }
}
