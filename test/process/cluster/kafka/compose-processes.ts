import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startKafkaBroker } from '../../../kafka-broker/broker.ts';
import { onCleanup, temporaryFolder } from '../../harness/cleanup.js';
import { freePort } from '../../../ports.js';
import { startServer } from '../../harness/server.js';
import type { Server } from '../../harness/server.js';
import { eventually } from '../../harness/wait.js';
import { readCompose } from '../compose-file.js';
import type { ComposeFile, ComposeService, Settings } from '../compose-file.js';
import { openStoreServer, readinessOf } from '../roles.js';

const root = join(import.meta.dirname, '..', '..', '..', '..');
const cli = join(root, 'apps', 'cli', 'bin', 'countersign.js');

/** One process that stands for a container. */
export interface Container {
  readonly name: string;
  readonly service: ComposeService;
  readonly server: Server;
  readonly env: Settings;
}

/** What stands for the machine that Compose runs on. */
export interface Machine {
  readonly file: ComposeFile;
  readonly brokers: readonly string[];
  /** Runs a service that ends by itself; answers what it printed. @throws Error when it does not end with 0. */
  readonly runToEnd: (service: string) => Promise<string>;
  /** Starts every replica of a service, ready or not. */
  readonly start: (service: string) => Promise<readonly Container[]>;
  /** The folder that stands for a volume. */
  readonly folderOf: (volume: string) => string;
}

/** What the image sets, unless a service says otherwise. */
function imageEnvironment(): Settings {
  const text = readFileSync(join(root, 'Dockerfile'), 'utf8');
  return Object.fromEntries(
    [...text.matchAll(/\b(COUNTERSIGN_[A-Z_]+)=(\S+)/g)].map(([, name = '', to = '']) => [name, to]),
  );
}

/** Starts the two servers that the file names by their images, and gets ready to run the rest as processes. */
export async function openMachine(settings: Settings): Promise<Machine> {
  const broker = await startKafkaBroker();
  onCleanup(() => broker.stop());
  const store = await openStoreServer();
  const file = readCompose(settings);
  const folders = new Map<string, string>();
  const folderOf = (source: string): string => {
    if (source.startsWith('/')) return source;
    if (source.startsWith('.')) return join(root, source);
    const known = folders.get(source) ?? temporaryFolder();
    folders.set(source, known);
    return known;
  };
  const onThisMachine = (service: ComposeService): ((text: string) => string) => {
    const mounts = service.volumes.map(({ source, target }) => [target, folderOf(source)] as const);
    return (text) => {
      const mount = mounts.find(([target]) => text === target || text.startsWith(`${target}/`));
      if (mount !== undefined) return mount[1] + text.slice(mount[0].length);
      return text
        .replace('eventstore:2113', `127.0.0.1:${String(store.port)}`)
        .replace(/\bkafka:9092\b/, broker.brokers.join(','))
        .replace(/^0\.0\.0\.0$/, '127.0.0.1');
    };
  };
  const serviceOf = (name: string): ComposeService => {
    const found = file.services.find((service) => service.name === name);
    if (found === undefined) throw new Error(`the compose file has no service ${name}`);
    return found;
  };
  const environmentOf = (service: ComposeService): Settings => {
    const map = onThisMachine(service);
    const given = { ...imageEnvironment(), ...service.environment };
    return Object.fromEntries(Object.entries(given).map(([name, value]) => [name, map(value)]));
  };
  return {
    file,
    brokers: broker.brokers,
    folderOf,
    runToEnd: (name) => {
      const service = serviceOf(name);
      return run(service.command.map(onThisMachine(service)), environmentOf(service));
    },
    start: async (name) => {
      const service = serviceOf(name);
      const containers: Container[] = [];
      for (let replica = 1; replica <= service.replicas; replica += 1) {
        const [folder, port] = [temporaryFolder(), await freePort()];
        const { COUNTERSIGN_DATA: data, ...rest } = environmentOf(service);
        // What is mounted nowhere is the container's own.
        const own = data === undefined || data === '/data' ? join(folder, 'data') : data;
        const env = { ...rest, COUNTERSIGN_DATA: own, COUNTERSIGN_PORT: String(port) };
        const server = startServer({ folder, port, args: service.command, env });
        containers.push({ name: `${name}-${String(replica)}`, service, server, env });
      }
      return containers;
    },
  };
}

/** Waits until a process says that it is ready. */
export async function untilReady({ name, server }: Container): Promise<void> {
  let exited = false;
  void server.exited.then(() => (exited = true));
  let last = '';
  await eventually(
    `${name} to be ready`,
    90_000,
    async () => {
      if (exited) throw new Error(`${name} ended; it printed:\n${server.output()}`);
      const answer = await readinessOf(server);
      last = answer?.text ?? last;
      return answer?.status === 200 ? true : undefined;
    },
    200,
  ).catch((error: unknown) => {
    throw new Error(`${String(error)}\nit said ${last}\nand printed:\n${server.output()}`);
  });
}

/** Asks as Docker does whether a container is healthy. */
export async function askHealth({ service, env }: Container): Promise<number> {
  const [command = '', ...args] = service.healthTest ?? [];
  const child = spawn(command, args, { env: { PATH: process.env['PATH'], ...env }, stdio: 'ignore' });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => {
      resolve(code ?? -1);
    });
  });
}

function run(args: readonly string[], env: Settings): Promise<string> {
  const child = spawn(process.execPath, [cli, ...args], {
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (text += chunk.toString()));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0) resolve(text);
      else reject(new Error(`${args.join(' ')} ended with ${String(code)}:\n${text}`));
    });
  });
}
