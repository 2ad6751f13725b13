import { execFile, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

export const root = join(import.meta.dirname, '..', '..');
export const cache = join(root, '.cache', 'clients');
export const generatorVersion = '7.15.0';

/** Returns whether a command is installed here. */
export function has(command: string, ...args: readonly string[]): boolean {
  return spawnSync(command, [...args]).status === 0;
}

/** Runs a command in a folder, and returns what it printed. Throws with its output when it fails. */
export async function run(
  cwd: string,
  env: Readonly<Record<string, string>>,
  command: string,
  ...args: readonly string[]
): Promise<string> {
  const options = { cwd, env: { ...process.env, ...env }, encoding: 'utf8' as const, maxBuffer: 2 ** 26 };
  const { stdout } = await promisify(execFile)(command, [...args], options);
  return stdout;
}

/** The jar of openapi-generator. The first call copies it with Maven. */
export async function generatorJar(): Promise<string> {
  const jar = join(cache, `openapi-generator-cli-${generatorVersion}.jar`);
  if (existsSync(jar)) return jar;
  await mkdir(cache, { recursive: true });
  const artifact = `org.openapitools:openapi-generator-cli:${generatorVersion}`;
  await run(root, {}, 'mvn', '-B', '-q', 'dependency:copy', `-Dartifact=${artifact}`, `-DoutputDirectory=${cache}`);
  return jar;
}

/** A folder with the packages of npm that the clients need. The first call installs them. */
export async function npmFolder(): Promise<string> {
  const folder = join(cache, 'npm');
  if (existsSync(join(folder, 'node_modules', '@asyncapi', 'modelina'))) return folder;
  await mkdir(folder, { recursive: true });
  const packages = ['@hey-api/openapi-ts@0.99.0', '@asyncapi/modelina@5.10.1', 'typescript@5.9', 'tsx@4'];
  await run(root, {}, 'npm', 'install', '--prefix', folder, '--no-audit', '--no-fund', '--ignore-scripts', ...packages);
  return folder;
}
