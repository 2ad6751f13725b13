import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  createClient,
  createWorker,
  type Client,
  type GateTool,
  type ToolResult,
  type Worker,
  type WorkerOptions,
} from '@countersign/worker-sdk';
import { onCleanup, temporaryFolder } from '../harness/cleanup.js';
import { freePort } from '../../ports.js';
import { inheritedEnvironment } from '../harness/environment.js';
import { startReadyServer } from '../harness/server.js';
import type { Server, ServerOptions } from '../harness/server.js';
import { readTokens } from '../harness/tokens.js';
import { eventually } from '../harness/wait.js';

/** A real server, and all of its clients. */
export interface World {
  readonly url: string;
  readonly me: Client;
  readonly server: () => Server;
  readonly kill: () => Promise<void>;
  readonly restart: (env?: Readonly<Record<string, string>>) => Promise<void>;
  readonly workerOf: (tools: readonly GateTool[], more?: Partial<WorkerOptions>) => Worker;
  /** Starts `agent-process.ts` with its files in `folder`. */
  readonly startAgent: (folder: string, settings?: Readonly<Record<string, string>>) => AgentProcess;
}

export interface AgentProcess {
  readonly kill: () => Promise<void>;
  readonly ended: Promise<number | null>;
  /** Its records so far. */
  readonly notes: () => readonly string[];
  readonly results: () => readonly ToolResult[];
}

export async function startWorld(): Promise<World> {
  const options: ServerOptions = { folder: temporaryFolder(), port: await freePort() };
  let server = await startReadyServer(options);
  const url = `http://127.0.0.1:${options.port}`;
  const tokens = readTokens(options.folder);
  return {
    url,
    me: createClient({ url, token: tokens.me }),
    server: () => server,
    kill: async () => {
      await server.stop('SIGKILL');
    },
    restart: async (env = {}) => {
      server = await startReadyServer({ ...options, env });
    },
    workerOf: (tools, more = {}) => {
      const worker = createWorker({
        url,
        token: tokens.agent,
        resolverToken: tokens.worker,
        agentId: 'agent',
        tools,
        ...more,
      });
      onCleanup(() => worker.close(0));
      return worker;
    },
    startAgent: (folder, settings = {}) =>
      startAgent(folder, { URL: url, AGENT: tokens.agent, WORKER: tokens.worker, ...settings }),
  };
}

/** Starts `agent-process.ts` with its files in `folder`. */
export function startAgent(folder: string, settings: Readonly<Record<string, string>>): AgentProcess {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'agent-process.ts')], {
    env: { ...inheritedEnvironment(), FOLDER: folder, ...settings },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await ended;
  };
  onCleanup(kill);
  const read = (name: string): string => {
    const file = join(folder, name);
    return existsSync(file) ? readFileSync(file, 'utf8') : '';
  };
  return {
    kill,
    ended,
    notes: () =>
      read('runs.log')
        .split('\n')
        .filter((line) => line !== ''),
    results: () => JSON.parse(read('results.json')) as ToolResult[],
  };
}

/** Waits until the process has noted a line that begins so. */
export function untilNoted(agent: AgentProcess, start: string): Promise<string> {
  return eventually(`the note "${start}"`, () => agent.notes().find((line) => line.startsWith(start)));
}
