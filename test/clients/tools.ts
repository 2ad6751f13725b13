import { execFile, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { quickJava } from '../quick-java.ts';

export const root = join(import.meta.dirname, '..', '..');
export const cache = join(root, '.cache', 'clients');
export const generatorVersion = '7.15.0';

/** What the clients need, each with the command that ends well where it is installed. */
const tools = {
  Python: ['python3', '--version'],
  Go: ['go', 'version'],
  Maven: ['mvn', '-v'],
  'a JDK': ['javac', '-version'],
  'PHP with Guzzle': ['php', '-r', 'exit(is_file("/usr/share/php/GuzzleHttp/autoload.php") ? 0 : 1);'],
  'Composer with ext-zip': ['sh', '-c', `php -r 'exit(extension_loaded("zip") ? 0 : 1);' && composer --version`],
} as const;

export type Tool = keyof typeof tools;

/** Returns those of the tools that are not installed here. In CI none may be missing, so a test that needs one fails. */
export function missing(wanted: readonly Tool[]): readonly Tool[] {
  if (process.env['CI'] !== undefined) return [];
  return wanted.filter((tool) => {
    const [command, ...args] = tools[tool];
    return spawnSync(command, args).status !== 0;
  });
}

/** Runs a command in a folder, and returns what it printed. Throws with its output when it fails. */
export async function run(
  cwd: string,
  env: Readonly<Record<string, string>>,
  command: string,
  ...args: readonly string[]
): Promise<string> {
  const options = { cwd, env: { ...process.env, ...env }, encoding: 'utf8' as const, maxBuffer: 2 ** 26 };
  try {
    const { stdout } = await promisify(execFile)(command, [...args], options);
    return stdout;
  } catch (error) {
    const { message, stdout = '' } = error as Error & { readonly stdout?: string };
    throw new Error(`${message}\n${stdout}`, { cause: error });
  }
}

/** Runs Maven in a folder. */
export async function runMaven(cwd: string, ...args: readonly string[]): Promise<void> {
  await run(cwd, { MAVEN_OPTS: quickJava.join(' ') }, 'mvn', '-B', '-q', ...args);
}

/** The jar of openapi-generator. The first call copies it with Maven. */
export async function generatorJar(): Promise<string> {
  const jar = join(cache, `openapi-generator-cli-${generatorVersion}.jar`);
  if (existsSync(jar)) return jar;
  await mkdir(cache, { recursive: true });
  const artifact = `org.openapitools:openapi-generator-cli:${generatorVersion}`;
  await runMaven(root, 'dependency:copy', `-Dartifact=${artifact}`, `-DoutputDirectory=${cache}`);
  return jar;
}

/** Packages of npm that are tried, each with what it needs. */
const npmPackages = {
  'openapi-ts': ['@hey-api/openapi-ts@0.99.0', 'typescript@5.9', 'tsx@4'],
  modelina: ['@asyncapi/modelina@5.10.1'],
} as const;

/** A folder with these packages of npm. The first call installs them. */
export async function npmFolder(name: keyof typeof npmPackages): Promise<string> {
  const folder = join(cache, name);
  // npm writes it last.
  if (existsSync(join(folder, 'node_modules', '.package-lock.json'))) return folder;
  await mkdir(folder, { recursive: true });
  const options = ['--no-audit', '--no-fund', '--ignore-scripts'];
  await run(root, {}, 'npm', 'install', '--prefix', folder, ...options, ...npmPackages[name]);
  return folder;
}
