import { spawn } from 'node:child_process';
import { readFileSync, symlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { parseEnv } from 'node:util';
import { temporaryFolder } from '../../harness/cleanup.js';
import { freePort } from '../../../ports.js';
import { endOf, startServer } from '../../harness/server.js';
import type { Server } from '../../harness/server.js';
import { eventually } from '../../harness/wait.js';
import { readCompose } from '../compose-file.js';
import type { ComposeFile, ComposeService, Settings } from '../compose-file.js';
import { openStoreServer, readinessOf } from '../roles.js';
import { startComposeBroker } from './compose-broker.js';
import type { ComposeBroker } from './compose-broker.js';

const root = join(import.meta.dirname, '..', '..', '..', '..');
const cli = join(root, 'apps', 'cli', 'bin', 'countersign.js');

/** One process that replaces a container. */
export interface Container {
  readonly name: string;
  readonly service: ComposeService;
  readonly server: Server;
  readonly env: Settings;
}

/** The replacement of the machine that Compose runs on. */
export interface Machine {
  readonly file: ComposeFile;
  readonly broker: ComposeBroker;
  /** Runs a service that ends by itself; returns its output. @throws Error when its exit code is not 0. */
  readonly runToEnd: (service: string) => Promise<string>;
  /** Starts every replica of a service, ready or not. */
  readonly start: (service: string) => Promise<readonly Container[]>;
  /** The folder that replaces a volume. */
  readonly folderOf: (volume: string) => string;
  /** The folder of the event store. */
  readonly storeFolder: string;
}

/** The image's variables, unless a service overrides them. */
function imageEnvironment(): Settings {
  const text = readFileSync(join(root, 'Dockerfile'), 'utf8');
  return Object.fromEntries(
    [...text.matchAll(/\b(COUNTERSIGN_[A-Z_]+)=(\S+)/g)].map(([, name = '', to = '']) => [name, to]),
  );
}

/**
 * Starts the store and the broker that the file names by their images, and prepares to run the rest as processes. `envFiles`: the
 * optional files of variables, by their paths.
 */
export async function openMachine(settings: Settings, envFiles: Settings = {}): Promise<Machine> {
  const storeFolder = temporaryFolder();
  const store = await openStoreServer(undefined, storeFolder);
  const file = readCompose(settings);
  const folderOf = createVolumes();
  const serviceOf = (name: string): ComposeService => {
    const found = file.services.find((service) => service.name === name);
    if (found === undefined) throw new Error(`the compose file has no service ${name}`);
    return found;
  };
  const credentials = serviceOf('credentials');
  await runService(credentials, pathsOf(credentials, folderOf), {});
  const kafka = serviceOf('kafka');
  const broker = await startComposeBroker(kafka, pathsOf(kafka, folderOf));
  const keeperPort = String(await freePort());
  const notaryPorts = [String(await freePort()), String(await freePort())];
  const onThisMachine = (service: ComposeService): ((text: string) => string) => {
    const pathOf = pathsOf(service, folderOf);
    return (text) =>
      pathOf(text)
        .replace('eventstore:2113', `127.0.0.1:${String(store.port)}`)
        .replace(/\bkafka:9092\b/, broker.inside)
        .replace(/\bkeeper:7443\b/, `localhost:${keeperPort}`)
        .replace(/^7443$/, keeperPort)
        .replaceAll(/\bnotary-([12]):7444\b/g, (_, nth) => `localhost:${notaryPorts[Number(nth) - 1] ?? ''}`)
        .replace(/^7444$/, notaryPorts[service.name === 'notary-1' ? 0 : 1] ?? '')
        .replace(/^0\.0\.0\.0$/, '127.0.0.1');
  };
  const environmentOf = (service: ComposeService): Settings => {
    const map = onThisMachine(service);
    const named = service.envFiles.map((path) => parseEnv(envFiles[path] ?? ''));
    const given: Settings = Object.assign({}, imageEnvironment(), ...named, service.environment) as Settings;
    return Object.fromEntries(Object.entries(given).map(([name, value]) => [name, map(value)]));
  };
  return {
    file,
    broker,
    folderOf,
    storeFolder,
    runToEnd: (name) => {
      const service = serviceOf(name);
      return runService(service, onThisMachine(service), environmentOf(service));
    },
    start: async (name) => startReplicas(serviceOf(name), environmentOf(serviceOf(name))),
  };
}

async function startReplicas(service: ComposeService, environment: Settings): Promise<readonly Container[]> {
  const containers: Container[] = [];
  for (let replica = 1; replica <= service.replicas; replica += 1) {
    const [folder, port] = [temporaryFolder(), await freePort()];
    const { COUNTERSIGN_DATA: data, ...rest } = environment;
    // An unmounted path is private to the container.
    const own = data === undefined || data === '/data' ? join(folder, 'data') : data;
    const env = { ...rest, COUNTERSIGN_DATA: own, COUNTERSIGN_PORT: String(port) };
    const server = startServer({ folder, port, args: service.command, env });
    containers.push({ name: `${service.name}-${String(replica)}`, service, server, env });
  }
  return containers;
}

/** A folder for each volume; a path in the repository or on the machine is used itself. */
function createVolumes(): (source: string) => string {
  const folders = new Map<string, string>();
  return (source) => {
    if (source.startsWith('/')) return source;
    if (source.startsWith('.')) return join(root, source);
    const known = folders.get(source) ?? temporaryFolder();
    folders.set(source, known);
    return known;
  };
}

/** The path on this machine for a path in the container of a service; any other text stays as it is. */
function pathsOf(service: ComposeService, folderOf: (source: string) => string): (text: string) => string {
  const mounts = service.volumes.map(({ source, target }) => [target, folderOf(source)] as const);
  const parents = new Map<string, string>();
  const parentOf = (path: string, below: typeof mounts): string => {
    const known = parents.get(path);
    if (known !== undefined) return known;
    const folder = temporaryFolder();
    for (const [target, source] of below) symlinkSync(source, join(folder, basename(target)));
    parents.set(path, folder);
    return folder;
  };
  return (text) => {
    const mount = mounts.find(([target]) => text === target || text.startsWith(`${target}/`));
    if (mount !== undefined) return mount[1] + text.slice(mount[0].length);
    const below = mounts.filter(([target]) => dirname(target) === text);
    return below.length === 0 ? text : parentOf(text, below);
  };
}

/** Waits until a process reports that it is ready. */
export async function untilReady({ name, server }: Container): Promise<void> {
  let exited = false;
  void server.exited.then(() => (exited = true));
  let last = '';
  await eventually(
    `${name} to be ready`,
    async () => {
      if (exited) throw new Error(`${name} ended; it printed:\n${endOf(server.output())}`);
      const answer = await readinessOf(server);
      last = answer?.text ?? last;
      return answer?.status === 200 ? true : undefined;
    },
    200,
  ).catch((error: unknown) => {
    throw new Error(`${String(error)}\nit said ${last}\nand printed:\n${endOf(server.output())}`);
  });
}

/** Runs the health check of a container, like Docker. */
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

/** Runs the command of a service, by its own entry point or by the image's. Returns what it printed. */
function runService(service: ComposeService, map: (text: string) => string, env: Settings): Promise<string> {
  const [, script = cli] = service.entrypoint ?? [];
  const args = [map(script), ...service.command.map(map)];
  const child = spawn(process.execPath, args, {
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
