import { execFile } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..', '..');
const frameworks = join(root, 'libs', 'adapters', 'node_modules');
const folder = mkdtempSync(join(tmpdir(), 'countersign-packages-'));
const app = join(folder, 'app');

interface Manifest {
  readonly name: string;
  readonly exports: Readonly<Record<string, unknown>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

const installed = (): readonly Manifest[] =>
  readdirSync(join(app, 'node_modules', '@countersign')).map(
    (name) =>
      JSON.parse(readFileSync(join(app, 'node_modules', '@countersign', name, 'package.json'), 'utf8')) as Manifest,
  );

/** The frameworks as a user has them, but not kafkajs, which is optional. */
function linkFrameworks(): void {
  for (const name of ['ai', 'langchain', '@openai', '@langchain', '@mastra', '@ag-ui', '@a2a-js', 'zod']) {
    rmSync(join(app, 'node_modules', name), { recursive: true, force: true });
    symlinkSync(join(frameworks, name), join(app, 'node_modules', name));
  }
}

beforeAll(async () => {
  const packages = join(folder, 'packages');
  await run(process.execPath, [join(root, 'scripts', 'pack.mjs'), packages]);
  mkdirSync(app);
  writeFileSync(join(app, 'package.json'), '{ "name": "app", "private": true, "type": "module" }');
  const tarballs = readdirSync(packages).map((file) => join(packages, file));
  const options = ['--prefer-offline', '--legacy-peer-deps', '--ignore-scripts', '--no-audit', '--no-fund'];
  await run('npm', ['install', ...options, ...tarballs], { cwd: app });
  linkFrameworks();
}, 120_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('the packed packages can be imported in an empty folder, by each entrance, without optional packages', async () => {
  const entrances = installed().flatMap(({ name, exports }) =>
    Object.keys(exports).map((path) => join(name, path).replaceAll('\\', '/')),
  );
  expect(entrances).toEqual(expect.arrayContaining(['@countersign/worker-sdk', '@countersign/worker-sdk/testing']));
  expect(entrances.length).toBeGreaterThan(7);
  const program = entrances.map((entrance) => `await import('${entrance}');`).join('\n');
  writeFileSync(join(app, 'imports.js'), `${program}\nconsole.log('all imported');`);
  const { stdout } = await run(process.execPath, ['imports.js'], { cwd: app });
  expect(stdout).toBe('all imported\n');
});

it('no package brings specs, sources, source maps or build information along', () => {
  const files = installed().flatMap(({ name }) =>
    readdirSync(join(app, 'node_modules', name), { recursive: true, encoding: 'utf8' }).filter((file) =>
      /\.spec\.|^src\/|\.map$|\.tsbuildinfo$/.test(file),
    ),
  );
  expect(files).toEqual([]);
});

it('each package brings its license along', () => {
  const names = installed().map(({ name }) => name);
  expect(names.filter((name) => !existsSync(join(app, 'node_modules', name, 'LICENSE')))).toEqual([]);
});
