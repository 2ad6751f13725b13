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
import { startKitServer, type KitServer } from '@countersign/conformance';
import { createClient } from '@countersign/worker-sdk';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

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

describe('an example that is copied from its package', () => {
  let server: KitServer;
  beforeAll(async () => {
    server = await startKitServer(join(root, 'apps', 'cli', 'bin', 'countersign.js'));
  });
  afterAll(() => server.stop());

  /** Copies the example as the README says, and points it to the server and to a run of its own. */
  function copyExample(adapter: string, program: string): string {
    const own = join(app, adapter);
    mkdirSync(own);
    for (const file of [program, 'model.ts']) {
      const text = readFileSync(join(app, 'node_modules', '@countersign', adapter, 'examples', file), 'utf8');
      const pointed = text.replace('http://127.0.0.1:7400', server.url).replace(/conversation-42|thread-1/, adapter);
      writeFileSync(join(own, file), pointed);
    }
    return own;
  }

  async function approveFirst(runId: string, signal: AbortSignal): Promise<void> {
    const approver = createClient({ url: server.url, token: server.approverToken });
    for await (const { data } of approver.events({ types: ['ApprovalRequested'], runId, after: 0, signal })) {
      await approver.respond((data as { approvalId: string }).approvalId, { decision: { type: 'approve' } });
      return;
    }
  }

  it.each([
    ['ai-sdk', 'refund.ts'],
    ['langchain', 'refunds.ts'],
    ['mastra', 'refund.ts'],
    ['openai-agents', 'refund.ts'],
  ])(
    '%s runs with its scripted model, and ends after an approval',
    async (adapter, program) => {
      const env = {
        PATH: process.env['PATH'],
        COUNTERSIGN_TOKEN: server.agentToken,
        COUNTERSIGN_RESOLVER_TOKEN: server.workerToken,
      };
      const stop = new AbortController();
      try {
        const ended = run(process.execPath, [program], { cwd: copyExample(adapter, program), env });
        const [{ stdout }] = await Promise.all([ended, approveFirst(adapter, stop.signal)]);
        expect(stdout).toContain('The refund is dealt with.');
      } finally {
        stop.abort();
      }
    },
    30_000,
  );
});
