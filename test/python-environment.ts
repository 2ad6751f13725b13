import { execFile, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { withLock } from '../scripts/lock.mjs';

const root = join(import.meta.dirname, '..');
const cache = join(root, '.cache');
const run = promisify(execFile);

/** True when specs of Python can run. In CI they must. */
export const hasPython = process.env['CI'] !== undefined || spawnSync('python3', ['--version']).error === undefined;

/** The limit of a hook that installs: a busy machine downloads, builds and unpacks for minutes. */
export const installMsMax = 900_000;

/** Settings of pip where one process uses an environment once: it reads a third of what pip would compile. */
export const compilesWhenRead = { PIP_NO_COMPILE: '1' };

/** The Python of a virtual environment. */
export function pythonOf(name: string): string {
  return join(cache, `python-${name}`, 'bin', 'python');
}

/**
 * Installs requirements into a virtual environment under `.cache`, and returns the path of its Python. Specs with the same requirements
 * share an environment by its name: the first one installs it. `settings` are variables of pip.
 */
export async function installPython(
  name: string,
  requirements: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<string> {
  const python = pythonOf(name);
  const folder = dirname(dirname(python));
  const stamp = join(folder, 'installed');
  const wanted = createHash('sha256')
    .update(readFileSync(resolve(root, requirements)))
    .digest('hex');
  await withLock(`${folder}.lock`, 'Python packages', async () => {
    if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return;
    const pip = await sharedPip();
    if (!existsSync(python)) await run('python3', ['-m', 'venv', '--without-pip', folder]);
    const install = [pip, 'install', '--quiet', '--disable-pip-version-check', '-r', requirements];
    await run(python, install, { cwd: root, env: { ...process.env, ...settings } });
    writeFileSync(stamp, wanted);
  });
  return python;
}

/**
 * Returns the pip that the Python of any environment runs. The first call makes it, in an environment of its own: a pip in each
 * environment takes 4 s of processor time, most of it to compile a pip that runs once.
 */
async function sharedPip(): Promise<string> {
  const folder = join(cache, 'python-pip');
  if (!existsSync(folder)) {
    await mkdir(cache, { recursive: true });
    const unfinished = await mkdtemp(`${folder}-`);
    await run('python3', ['-m', 'venv', unfinished]);
    // Another spec may have been faster.
    await rename(unfinished, folder).catch(() => rm(unfinished, { recursive: true }));
  }
  const { stdout } = await run(join(folder, 'bin', 'python'), ['-c', 'import pip; print(pip.__path__[0])']);
  // What pip itself uses for another Python: of the environment that it is in, it shows that Python nothing but pip.
  return join(stdout.trim(), '__pip-runner__.py');
}
