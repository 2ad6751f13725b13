import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { connect, Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { freeze } from '../freeze.ts';
import { preparedFiles } from './prepared.ts';
import { addressOf, metaProperties, serverProperties } from './server-properties.ts';
import type { NodeAddress } from './server-properties.ts';

const run = promisify(execFile);
const listeningWithinMs = 180_000;

export interface NodeOptions {
  readonly node: NodeAddress;
  readonly nodes: readonly NodeAddress[];
  readonly clusterId: string;
  readonly jars: string;
  /** The cluster's folder; it is deleted when the process that started it has ended. */
  readonly folder: string;
  /** The file of the node's standard output. */
  readonly logFile: string;
  readonly more?: MoreSettings;
}

/** Additional settings of a node. */
export interface MoreSettings {
  readonly settings: Readonly<Record<string, string>>;
  /** Users that its storage is formatted with: `SCRAM-SHA-256=[name=…,password=…]`. */
  readonly scramUsers: readonly string[];
  /** Further flags of its Java. */
  readonly javaFlags?: readonly string[];
}

/** One node of Kafka as a process, which can be killed, paused and restarted on its data. */
export class NodeProcess {
  readonly address: string;
  readonly #options: NodeOptions;
  readonly #properties: string;
  #java: { readonly process: ChildProcess; readonly exited: Promise<unknown>; ended: boolean } | undefined;
  #reaper: ChildProcess | undefined;

  constructor(options: NodeOptions) {
    this.#options = options;
    this.address = addressOf(options.node);
    this.#properties = join(options.folder, `node-${options.node.id}.properties`);
  }

  /** Makes its storage. */
  async format(): Promise<void> {
    const { node, nodes, clusterId, folder, jars, more } = this.#options;
    const data = join(folder, `node-${node.id}`);
    await mkdir(data, { recursive: true });
    await writeFile(this.#properties, serverProperties(node, nodes, data, more?.settings), { mode: 0o600 });
    const users = more?.scramUsers.flatMap((user) => ['--add-scram', user]) ?? [];
    const { bootstrap } = preparedFiles(jars);
    if (users.length === 0 && existsSync(bootstrap)) {
      await copyFile(bootstrap, join(data, 'bootstrap.checkpoint'));
      await writeFile(join(data, 'meta.properties'), metaProperties(node, clusterId));
      return;
    }
    const arguments_ = ['format', '-t', clusterId, '-c', this.#properties, ...users];
    await run('java', [...this.#flags('64m'), 'kafka.tools.StorageTool', ...arguments_]);
  }

  /** Starts it without waiting for anything, with further flags of its Java. */
  spawn(flags: readonly string[] = [`-XX:SharedArchiveFile=${preparedFiles(this.#options.jars).classes}`]): void {
    const output = openSync(this.#options.logFile, 'a');
    const java = spawn('java', [...flags, ...this.#flags('512m'), 'kafka.Kafka', this.#properties], {
      stdio: ['ignore', output, output],
      // A Ctrl-C for the tests ends it through the reaper, with its folder.
      detached: true,
    });
    closeSync(output);
    java.unref();
    const started = { process: java, exited: once(java, 'exit'), ended: false };
    java.once('exit', () => (started.ended = true));
    this.#java = started;
    this.#reaper = startReaper(java.pid ?? 0, this.#options.folder);
  }

  /** Resolves when it responds on its port. */
  async listening(): Promise<void> {
    const deadline = performance.now() + listeningWithinMs;
    while (!(await answers(this.#options.node.port))) {
      const ended = this.#hasEnded();
      if (ended || performance.now() > deadline) throw this.#failure(ended);
      await setTimeout(50);
    }
  }

  /** Ends it as a crash or a power cut would, or in order with SIGTERM, and waits until it is gone. */
  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const java = this.#java;
    if (java === undefined) return;
    this.#java = undefined;
    java.process.ref();
    java.process.kill(signal);
    // A paused process handles no other signal.
    java.process.kill('SIGCONT');
    await java.exited;
    // The folder stays: the next start continues with it.
    this.#reaper?.kill('SIGKILL');
  }

  /** Connections stay open and it does not respond, until `resume`. */
  async pause(): Promise<void> {
    const pid = this.#java?.process.pid;
    if (pid !== undefined) await freeze(pid);
  }

  resume(): void {
    this.#java?.process.kill('SIGCONT');
  }

  #hasEnded(): boolean {
    return this.#java?.ended ?? true;
  }

  #flags(heap: string): string[] {
    const { jars, more } = this.#options;
    const logging = `-Dlog4j2.configurationFile=${join(import.meta.dirname, 'log4j2.properties')}`;
    return [
      `-Xmx${heap}`,
      '-XX:TieredStopAtLevel=1',
      '-XX:+UseSerialGC',
      logging,
      ...(more?.javaFlags ?? []),
      '-cp',
      join(jars, '*'),
    ];
  }

  #failure(ended: boolean): Error {
    const last = readFileSync(this.#options.logFile, 'utf8').trim().split('\n').slice(-15).join('\n');
    const what = ended ? 'ended before it listened' : `did not listen within ${listeningWithinMs / 1000} s`;
    return new Error(`the Kafka broker ${what}. The last it said (${this.#options.logFile}):\n${last}`);
  }
}

/**
 * When the tests end in any way, the node ends too, and its folder is deleted: the reaper's input closes with the
 * process that opened it.
 */
function startReaper(pid: number, folder: string): ChildProcess {
  const script = 'cat >/dev/null; kill -9 "$0" 2>/dev/null; rm -rf "$1"';
  const reaper = spawn('sh', ['-c', script, String(pid), folder], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  reaper.unref();
  // A pipe keeps the process alive like any handle, and is a socket here.
  if (reaper.stdin instanceof Socket) reaper.stdin.unref();
  return reaper;
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    const done = (listening: boolean): void => {
      socket.destroy();
      resolve(listening);
    };
    socket.once('connect', () => done(true)).once('error', () => done(false));
  });
}
