import { cpSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { compilesWhenRead, installPython } from '../python-environment.ts';
import { quickGo } from '../quick-go.ts';
import { quickJava } from '../quick-java.ts';
import type { Environment } from './environment.ts';
import { document } from './generated.ts';
import { npmFolder, root, run } from './tools.ts';

export const journeys = join(root, 'test', 'clients');

/** Runs the journey with the client of openapi-generator for Python, and returns what it printed. */
export async function runPython(client: string, env: Environment): Promise<string> {
  const python = await installPython('clients', 'test/clients/requirements.txt', compilesWhenRead);
  return run(root, { ...env, PYTHONPATH: client }, python, join(journeys, 'journey_generator.py'));
}

/** Makes a client with openapi-python-client, and runs the journey. Throws when the client leaves out an operation. */
export async function runPythonClient(folder: string, env: Environment): Promise<string> {
  const python = await installPython('clients', 'test/clients/requirements.txt', compilesWhenRead);
  const client = join(folder, 'client');
  const generator = join(dirname(python), 'openapi-python-client');
  // Without its hooks, which only format.
  writeFileSync(join(folder, 'config.json'), JSON.stringify({ post_hooks: [] }));
  const config = ['--config', join(folder, 'config.json')];
  await run(folder, {}, generator, 'generate', '--path', document, '--output-path', client, ...config);
  const files = readdirSync(join(client, 'countersign_client', 'api'), { recursive: true, encoding: 'utf8' });
  const absent = operationIds().filter((id) => !files.some((file) => file.endsWith(`/${moduleOf(id)}.py`)));
  if (absent.length > 0) throw new Error(`the client has no ${absent.join(', ')}`);
  return run(root, { ...env, PYTHONPATH: client }, python, join(journeys, 'journey_client.py'));
}

function operationIds(): readonly string[] {
  const { paths } = JSON.parse(readFileSync(document, 'utf8')) as {
    paths: Record<string, Record<string, { operationId: string }>>;
  };
  return Object.values(paths).flatMap((path) => Object.values(path).map(({ operationId }) => operationId));
}

/** The module that the client for Python has for an operation. */
const moduleOf = (id: string): string => id.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Runs the journey with the client of openapi-generator for Go. */
export async function runGo(client: string, env: Environment): Promise<string> {
  const module = readFileSync(join(client, 'go.mod'), 'utf8');
  writeFileSync(join(client, 'go.mod'), module.replace(/^module .*/, 'module countersign.example/client'));
  const program = join(client, 'journey');
  mkdirSync(program, { recursive: true });
  cpSync(join(journeys, 'journey.go'), join(program, 'main.go'));
  const flags = { GOFLAGS: `-mod=mod ${quickGo.GOFLAGS}` };
  return run(client, { ...env, ...quickGo, ...flags }, 'go', 'run', './journey');
}

/** Runs the journey with the client of openapi-generator for PHP. */
export async function runPhp(client: string, env: Environment): Promise<string> {
  return run(root, { ...env, CLIENT: client }, 'php', join(journeys, 'journey.php'));
}

/** Returns what runs a journey with a client of openapi-generator for Java. It compiles what the journey reaches. */
export const runJava =
  (journey: string) =>
  async (client: string, env: Environment): Promise<string> => {
    const jars = readFileSync(join(client, 'classpath'), 'utf8').trim();
    const classes = join(client, 'classes');
    const sources = ['-sourcepath', join(client, 'src', 'main', 'java'), join(journeys, `${journey}.java`)];
    const quick = quickJava.map((option) => `-J${option}`);
    await run(client, {}, 'javac', ...quick, '-proc:none', '-nowarn', '-cp', jars, '-d', classes, ...sources);
    return run(client, env, 'java', ...quickJava, '-cp', `${classes}:${jars}`, journey);
  };

/** Makes a client with @hey-api/openapi-ts, and runs the journey. */
export async function runTypeScript(folder: string, env: Environment): Promise<string> {
  const packages = await npmFolder('openapi-ts');
  const bin = (name: string): string => join(packages, 'node_modules', '.bin', name);
  cpSync(join(journeys, 'journey.mts'), join(folder, 'journey.mts'));
  const options = ['-i', document, '-o', join(folder, 'client'), '-c', '@hey-api/client-fetch'];
  await run(packages, {}, bin('openapi-ts'), ...options);
  return run(folder, env, bin('tsx'), 'journey.mts');
}
