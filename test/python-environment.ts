import { execFile, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const root = join(import.meta.dirname, '..');

/** True when specs of Python can run. In CI they must. */
export const hasPython = process.env['CI'] !== undefined || spawnSync('python3', ['--version']).error === undefined;

/** The limit of a hook that installs: a busy machine downloads, builds and unpacks for minutes. */
export const installMsMax = 900_000;

/** The Python of a spec's own virtual environment. */
export function pythonOf(name: string): string {
  return join(root, '.cache', `python-${name}`, 'bin', 'python');
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
  const run = promisify(execFile);
  const python = pythonOf(name);
  if (!existsSync(python)) await run('python3', ['-m', 'venv', dirname(dirname(python))]);
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '-r', requirements];
  await run(python, pip, { cwd: root, env: { ...process.env, ...settings } });
  return python;
}
