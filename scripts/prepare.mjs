// Installs and builds what is missing. Without dependencies, for any Node from 16 on: it runs before anything is installed.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isRecent, neededNode, pinnedNode } from '../apps/cli/bin/pinned-node.js';
import { withLock } from './lock.mjs';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));
const adapters = join(root, 'integrations', 'adapters');
/** TypeScript 7, which compiles in native code. What needs the interface of its compiler (ESLint, the types of the API) has version 6. */
const compiler = join(root, 'node_modules', 'typescript-native', 'bin', 'tsc');
const buildStamp = join(root, '.cache', 'build-stamp');
/** Two runs in one clone must not install or compile at the same moment. */
const lockFile = join(root, '.cache', 'prepare.lock');

/** Installs from the lock file, unless what is installed is already what the lock file says. */
export async function ensureInstalled(folder = root, words = 'Installing dependencies (once)') {
  const lock = join(folder, 'package-lock.json');
  const stamp = join(folder, 'node_modules', '.countersign-install');
  const wanted = createHash('sha256').update(readFileSync(lock)).digest('hex');
  if (read(stamp) === wanted) return;
  await withLock(lockFile, 'install or build', async () => {
    if (read(stamp) === wanted) return;
    if (!installedByHand(folder, lock)) {
      const options = ['--include=dev', '--include=optional', '--loglevel=error'];
      await withProgress(words, () => npm(['ci', ...options], folder));
    }
    writeFileSync(stamp, wanted);
  });
}

/** Installs the agent frameworks, and compiles the adapters against them. Only tests and checks need that. */
export async function ensureAdapters() {
  await ensureInstalled();
  await ensureInstalled(adapters, 'Installing the agent frameworks for the adapters (once)');
  await ensureBuilt();
  await withLock(lockFile, 'install or build', () => withProgress('Building the adapters', () => compile([adapters])));
}

/** Compiles, unless no source changed since the last time. `always` asks the compiler in any case. */
export async function ensureBuilt({ always = false } = {}) {
  if (!always && isBuilt(stateOfSources())) return;
  await withLock(lockFile, 'install or build', async () => {
    await ensureApiTypes();
    const before = stateOfSources();
    if (always || !isBuilt(before)) await build(before);
  });
}

function isBuilt(sources) {
  return (
    read(buildStamp) === sources &&
    existsSync(apiTypes) &&
    workspaces().every((folder) => existsSync(join(folder, 'dist', folder === inbox ? 'index.html' : 'index.js'))) &&
    existsSync(join(cli, 'bundle', 'main.js'))
  );
}

async function build(before) {
  await withProgress('Building', async () => {
    const ofInbox = stateOfInbox();
    const isBuiltInbox = read(inboxStamp) === ofInbox && existsSync(join(inbox, 'dist', 'index.html'));
    // The inbox needs few packages, so it need not wait for the others.
    if (!isBuiltInbox) await compile(libsOfInbox);
    await Promise.all([compile().then(() => bundle(before)), isBuiltInbox || buildInbox(ofInbox)]);
  });
  mkdirSync(dirname(buildStamp), { recursive: true });
  writeFileSync(buildStamp, before);
}

/**
 * Compiles these packages and what they need. Default: all packages. Packages are compiled side by side; several checkers for one package
 * check again what they share, which takes two thirds more processor time in all.
 */
function compile(folders = [join(root, 'tsconfig.build.json')]) {
  return run(recentNode(), [compiler, '-b', '--pretty', 'false', '--checkers', '1', ...folders]);
}

const apiTypes = join(root, 'libs', 'api-client', 'src', 'api.ts');
const document = join(root, 'docs', 'openapi.json');

/** Generates the types of the API's client, when the document is newer. */
async function ensureApiTypes() {
  if (existsSync(apiTypes) && statSync(apiTypes).mtimeMs >= statSync(document).mtimeMs) return;
  const script = join(root, 'scripts', 'api-types.mjs');
  await withProgress('Writing the types of the API', () => run(recentNode(), [script]));
}

const cli = join(root, 'apps', 'cli');
const bundleStamp = join(root, '.cache', 'bundle-stamp');

/** Puts what `countersign` runs into a few files, unless no source changed since the last time. */
async function bundle(sources) {
  if (read(bundleStamp) === sources && existsSync(join(cli, 'bundle', 'main.js'))) return;
  const rolldown = join(root, 'node_modules', 'rolldown', 'bin', 'cli.mjs');
  await run(recentNode(), [rolldown, '--config', 'rolldown.config.mjs', '--logLevel', 'silent'], { cwd: cli });
  mkdirSync(dirname(bundleStamp), { recursive: true });
  writeFileSync(bundleStamp, sources);
}

const inbox = join(root, 'apps', 'inbox');
const inboxStamp = join(root, '.cache', 'inbox-stamp');
const libsOfInbox = ['contracts', 'http-client', 'react', 'text'].map((name) => join(root, 'libs', name));

/** Bundles the web inbox. */
async function buildInbox(before) {
  const vite = join(root, 'node_modules', 'vite', 'bin', 'vite.js');
  await run(recentNode(), [compiler, '-p', inbox, '--pretty', 'false']);
  await run(recentNode(), [vite, 'build', '--logLevel', 'warn'], { cwd: inbox });
  mkdirSync(dirname(inboxStamp), { recursive: true });
  writeFileSync(inboxStamp, before);
}

/** The Node that everything of ours runs under. */
export function recentNode() {
  const node = pinnedNode() || (isRecent() ? process.execPath : undefined);
  if (node) return node;
  console.error(
    `Needs Node ${neededNode} or newer with SQLite 3.51 or newer: this is ${process.version} with SQLite ` +
      `${process.versions.sqlite || 'none'}, and no Node is installed for ${process.platform} ${process.arch}. Install it from https://nodejs.org.`,
  );
  return process.exit(1);
}

function installedByHand(folder, lock) {
  const hidden = join(folder, 'node_modules', '.package-lock.json');
  return existsSync(hidden) && existsSync(compiler) && statSync(hidden).mtimeMs >= statSync(lock).mtimeMs;
}

function npm(args, cwd) {
  const cli = process.env.npm_execpath;
  if (cli && /npm-cli\.c?js$/.test(cli)) return run(process.execPath, [cli, ...args], { cwd });
  return run('npm', args, { cwd, shell: process.platform === 'win32' });
}

function workspaces() {
  return ['libs', 'apps', 'integrations'].flatMap((parent) =>
    readdirSync(join(root, parent))
      .map((name) => join(root, parent, name))
      .filter((folder) => folder !== adapters && existsSync(join(folder, 'tsconfig.json'))),
  );
}

/** One hash over name, size and time of every file that the compiler reads. */
function stateOfSources() {
  const perFolder = workspaces().flatMap((folder) => [
    join(folder, 'package.json'),
    join(folder, 'tsconfig.json'),
    ...sources(join(folder, 'src')),
  ]);
  const inRoot = ['package-lock.json', 'tsconfig.build.json', 'tsconfig.base.json', 'tsconfig.app.json'];
  const others = [document, ...inRoot.map((name) => join(root, name)), join(cli, 'rolldown.config.mjs')];
  return stateOf([...others, ...perFolder, ...inboxFiles()]);
}

/** The same for the inbox, for the types of the API, and for the bundled libraries. */
function stateOfInbox() {
  const others = [join(root, 'package-lock.json'), join(inbox, 'tsconfig.json'), join(inbox, 'package.json')];
  const ofOthers = libsOfInbox.flatMap((folder) => sources(join(folder, 'src')));
  return stateOf([...others, ...inboxFiles(), ...sources(join(inbox, 'src')), ...ofOthers]);
}

function inboxFiles() {
  return [join(inbox, 'index.html'), join(inbox, 'vite.config.mjs'), ...sources(join(inbox, 'public'))];
}

function stateOf(files) {
  const hash = createHash('sha256');
  for (const file of files) {
    const { mtimeMs, size } = statSync(file);
    hash.update(`${relative(root, file)} ${size} ${mtimeMs}\n`);
  }
  return hash.digest('hex');
}

function sources(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return sources(path);
    return entry.name.endsWith('.spec.ts') ? [] : [path];
  });
}

function read(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

/** Resolves with the output; rejects with it when the command fails. */
function run(command, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'], ...options });
    let output = '';
    child.stdout.on('data', (chunk) => (output += chunk));
    child.stderr.on('data', (chunk) => (output += chunk));
    child.on('error', reject);
    child.on('close', (code) =>
      code === 0 ? resolve(output) : reject(new Error(output.trim() || `${command} ended with ${code}`)),
    );
  });
}

async function withProgress(what, work) {
  const { stderr } = process;
  const startedAt = Date.now();
  const seconds = () => `${Math.round((Date.now() - startedAt) / 1000)} s`;
  stderr.write(stderr.isTTY ? `${what} …` : `${what} …\n`);
  const tick = () => stderr.write(stderr.isTTY ? `\r${what} … ${seconds()}` : `${what} … ${seconds()}\n`);
  const ticker = setInterval(tick, stderr.isTTY ? 1000 : 30_000);
  try {
    await work();
    stderr.write(`${stderr.isTTY ? '\r' : ''}${what}: done in ${seconds()}\n`);
  } catch (error) {
    stderr.write(`${stderr.isTTY ? '\r' : ''}${what}: failed after ${seconds()}\n${error.message}\n`);
    process.exit(1);
  } finally {
    clearInterval(ticker);
  }
}
