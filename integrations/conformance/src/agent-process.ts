import { spawn } from 'node:child_process';
import { PassThrough } from 'node:stream';
import { eachLine } from '@countersign/http-client';
import { agentEventSchema, type AgentEvent, type AgentStart, type ToolReply } from './protocol.js';

/** One process of the agent under test. */
export interface AgentProcess {
  /** The next line of the agent. Rejects when the process ends or is silent for too long; the error has its stderr. */
  readonly next: () => Promise<AgentEvent>;
  /** Writes a line. */
  readonly send: (line: AgentStart | ToolReply) => void;
  /** Kills the process with SIGKILL. Resolves when it has ended. */
  readonly kill: () => Promise<void>;
  readonly ended: Promise<void>;
}

/** How to start the agent. */
export interface AgentCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd?: string | undefined;
}

const silentMsMax = 30_000;
const stderrCharactersMax = 4000;

/** Starts the agent. */
export function startAgent({ command, args, cwd }: AgentCommand): AgentProcess {
  const child = spawn(command, [...args], { cwd, stdio: ['pipe', 'pipe', 'pipe'] });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-stderrCharactersMax);
  });
  // The agent may end before it has read everything.
  child.stdin.on('error', () => undefined);
  const queue = new PassThrough({ objectMode: true });
  // Read at once: a process that was killed is gone only when its output was read.
  eachLine(child.stdout, (line) => queue.write(line));
  child.stdout.once('close', () => queue.end());
  const lines = queue[Symbol.asyncIterator]() as AsyncIterator<string, void>;
  const ended = new Promise<void>((resolve, reject) => {
    child.once('error', (error) => {
      stderr += error.message;
      reject(error);
    });
    child.once('close', () => {
      resolve();
    });
  });
  const written = (): string => (stderr === '' ? 'it wrote nothing on stderr' : `it wrote on stderr:\n${stderr}`);
  const howItEnded = (): string =>
    `${child.signalCode === null ? `with exit code ${String(child.exitCode)}` : `by ${child.signalCode}`} and without a last line; ${written()}`;
  ended.catch(() => undefined);
  return {
    next: async () => {
      const timer = new AbortController();
      const silence = new Promise<never>((_resolve, reject) => {
        const timeout = setTimeout(() => {
          reject(new Error(`the agent was silent for ${silentMsMax / 1000} s; ${written()}`));
        }, silentMsMax);
        timer.signal.addEventListener('abort', () => {
          clearTimeout(timeout);
        });
      });
      try {
        const line = await Promise.race([lines.next(), silence]);
        if (line.done !== true) return parseEvent(line.value);
        await ended.catch(() => undefined);
        throw new Error(`the agent ended ${howItEnded()}`);
      } finally {
        timer.abort();
      }
    },
    send: (line) => void child.stdin.write(`${JSON.stringify(line)}\n`),
    kill: async () => {
      child.kill('SIGKILL');
      await ended;
    },
    ended,
  };
}

function parseEvent(line: string): AgentEvent {
  try {
    return agentEventSchema.parse(JSON.parse(line));
  } catch (error) {
    throw new Error(`the agent printed no event of the protocol: ${line.slice(0, 500)}`, { cause: error });
  }
}
