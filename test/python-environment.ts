import { execFile, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const root = join(import.meta.dirname, '..');
const cache = join(root, '.cache');
const run = promisify(execFile);

/** True when specs of Python can run. In CI they must. */
export const hasPython = process.env['CI'] !== undefined || spawnSync('python3', ['--version']).error === undefined;

/** The limit of a hook that installs: a busy machine downloads, builds and unpacks for minutes. */
export const installMsMax = 900_000;

/** Settings of pip where one process uses an environment once: it reads a third of what pip would compile. */
export const compilesWhenRead = { PIP_NO_COMPILE: '1' };

/** The Python of a spec's own virtual environment. */
export function pythonOf(name: string): string {
  return join(cache, `python-${name}`, 'bin', 'python');
}

/**
 * Installs the requirements of a spec into its own virtual environment under `.cache`, and returns the path of its Python.
 * Specs run side by side, so no two of them may use one name. `settings` are variables of pip.
 */
export async function installPython(
  name: string,
  requirements: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<string> {
  const python = pythonOf(name);
  const pip = await sharedPip();
  if (!existsSync(python)) await run('python3', ['-m', 'venv', '--without-pip', dirname(dirname(python))]);
  const install = [pip, 'install', '--quiet', '--disable-pip-version-check', '-r', requirements];
  await run(python, install, { cwd: root, env: { ...process.env, ...settings } });
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
