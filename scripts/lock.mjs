// One install and one build at a time in a clone. Without dependencies, for any Node from 16 on: it runs before anything is installed.
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

const lookEveryMs = 200;
const sayEveryMs = 30_000;
/** A lock without the number of its process is that of a process that crashed while it wrote it, once it is so old. */
const emptyMsMax = 10_000;

/**
 * Runs `work` while no other process of this clone holds the lock `file`. Waits for the other process, and says so. A lock whose
 * process has ended counts as free.
 */
export async function withLock(file, what, work) {
  mkdirSync(dirname(file), { recursive: true });
  let saidAt = -Infinity;
  while (!take(file)) {
    if (Date.now() - saidAt >= sayEveryMs) {
      saidAt = Date.now();
      process.stderr.write(`Waiting for process ${ownerOf(file) || '?'}, which holds ${file} (${what}) …\n`);
    }
    await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
  }
  const release = () => {
    if (ownerOf(file) === process.pid) rmSync(file, { force: true });
  };
  process.once('exit', release);
  try {
    return await work();
  } finally {
    process.off('exit', release);
    release();
  }
}

function take(file) {
  try {
    writeFileSync(file, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
  }
  const owner = ownerOf(file);
  if (isHeld(file, owner)) return false;
  const aside = `${file}.${process.pid}`;
  try {
    renameSync(file, aside);
  } catch {
    return false;
  }
  // Another process may have taken the free lock between the look and the renaming: it gets its lock back.
  if (ownerOf(aside) !== owner) {
    renameSync(aside, file);
    return false;
  }
  rmSync(aside, { force: true });
  return take(file);
}

function isHeld(file, owner) {
  if (!owner) return ageMsOf(file) < emptyMsMax;
  try {
    process.kill(owner, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

function ownerOf(file) {
  try {
    return Number(readFileSync(file, 'utf8')) || 0;
  } catch {
    return 0;
  }
}

function ageMsOf(file) {
  try {
    return Date.now() - statSync(file).mtimeMs;
  } catch {
    return 0;
  }
}
