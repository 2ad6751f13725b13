import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { CountersignError, createClient } from '@countersign/worker-sdk';

const run = promisify(execFile);
const frameworks = join(import.meta.dirname, '..', '..', 'adapters', 'node_modules');
const tools = join(import.meta.dirname, '..', '..', '..', 'node_modules');

export interface Manifest {
  readonly name: string;
  readonly exports: Readonly<Record<string, unknown>>;
}

/**
 * Installs the tarballs of a folder into an empty folder, as a user does, and returns the warnings of npm.
 *
 * @param path the PATH of npm; default: the PATH of this process
 */
export async function installPackages(tarballs: string, app: string, path = process.env['PATH']): Promise<string> {
  mkdirSync(app);
  writeFileSync(join(app, 'package.json'), '{ "name": "app", "private": true, "type": "module" }');
  const files = readdirSync(tarballs).map((file) => join(tarballs, file));
  const options = ['--prefer-offline', '--legacy-peer-deps', '--ignore-scripts', '--no-audit', '--no-fund'];
  const env = { ...process.env, PATH: path, npm_config_loglevel: 'warn' };
  return (await run('npm', ['install', ...options, ...files], { cwd: app, env })).stderr;
}

/** The frameworks as a user has them, but not kafkajs, which is optional. */
export function linkFrameworks(app: string, names: readonly string[]): void {
  for (const name of names) {
    rmSync(join(app, 'node_modules', name), { recursive: true, force: true });
    symlinkSync(join(frameworks, name), join(app, 'node_modules', name));
  }
}

/** Returns the manifests of our packages in a folder. */
export function manifestsIn(app: string): readonly Manifest[] {
  const ours = join(app, 'node_modules', '@countersign');
  return readdirSync(ours).map(
    (name) => JSON.parse(readFileSync(join(ours, name, 'package.json'), 'utf8')) as Manifest,
  );
}

/** Returns every name by which a program can import one of our packages in a folder. Style sheets are for bundlers. */
export function entrancesOf(app: string): readonly string[] {
  return manifestsIn(app).flatMap(({ name, exports }) =>
    Object.keys(exports)
      .filter((path) => !path.endsWith('.css'))
      .map((path) => join(name, path).replaceAll('\\', '/')),
  );
}

/** Imports each of these in a program of its own folder, and returns what the program printed: `all imported`. */
export async function importAll(app: string, entrances: readonly string[], node = process.execPath): Promise<string> {
  const program = entrances.map((entrance) => `await import('${entrance}');`).join('\n');
  writeFileSync(join(app, 'imports.js'), `${program}\nconsole.log('all imported');`);
  return (await run(node, ['imports.js'], { cwd: app })).stdout;
}

/** Bundles the text of a program with the packages of a folder, and returns the folder of the bundle, with `program.js`. */
export async function bundle(app: string, program: string): Promise<string> {
  const target = join(app, 'bundle');
  writeFileSync(join(app, 'program.js'), program);
  const rolldown = join(tools, 'rolldown', 'bin', 'cli.mjs');
  await run(process.execPath, [rolldown, 'program.js', '--platform', 'node', '--dir', target], { cwd: app });
  writeFileSync(join(target, 'package.json'), '{ "type": "module" }');
  return target;
}

/**
 * Compiles a program that imports these and has no types but those of the language and of the web, and returns what the
 * compiler prints: nothing when all is well.
 */
export async function complaintsOfTypes(app: string, names: readonly string[]): Promise<string> {
  const imports = names.map((name, index) => `import * as of${String(index)} from '${name}';`);
  const all = names.map((_, index) => `of${String(index)}`).join(', ');
  writeFileSync(join(app, 'types.ts'), `${imports.join('\n')}\nexport const all = [${all}];\n`);
  const compilerOptions = {
    ...{ strict: true, skipLibCheck: false, noEmit: true, module: 'nodenext', target: 'es2023' },
    ...{ lib: ['ES2023', 'DOM'], types: [] },
  };
  writeFileSync(join(app, 'tsconfig.types.json'), JSON.stringify({ compilerOptions, files: ['types.ts'] }));
  const tsc = join(tools, 'typescript-native', 'bin', 'tsc');
  try {
    return (await run(process.execPath, [tsc, '-p', 'tsconfig.types.json', '--pretty', 'false'], { cwd: app })).stdout;
  } catch (error) {
    return (error as { readonly stdout: string }).stdout;
  }
}

/** The program may have cancelled the call since. */
function unlessResolved(error: unknown): void {
  if (!(error instanceof CountersignError) || error.code !== 'already-resolved') throw error;
}

/** Runs a program. Until it ends, an approver decides all calls that wait for people. */
export async function whileDeciding<T>(
  type: 'approve' | 'deny',
  { url, token }: { readonly url: string; readonly token: string },
  program: () => Promise<T>,
): Promise<T> {
  const stop = new AbortController();
  const decide = async (): Promise<void> => {
    const approver = createClient({ url, token });
    for await (const { data } of approver.events({ types: ['ApprovalRequested'], after: 0, signal: stop.signal })) {
      const { approvalId } = data as { approvalId: string };
      if ((await approver.getApproval(approvalId)).state !== 'pending') continue;
      await approver.respond(approvalId, { decision: { type } }).catch(unlessResolved);
    }
  };
  const [result] = await Promise.all([program().finally(() => stop.abort()), decide()]);
  return result;
}
