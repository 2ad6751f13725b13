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
import { freePort } from '../ports.ts';
import { readTokens } from '../process/harness/tokens.ts';
import { eventually } from '../process/harness/wait.ts';

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

const examples = [
  ['ai-sdk', 'refund.ts'],
  ['langchain', 'refunds.ts'],
  ['mastra', 'refund.ts'],
  ['openai-agents', 'refund.ts'],
] as const;

/** Copies the example as the README says, and points it to the server and to a run of its own. */
function copyExample(adapter: string, program: string, url: string, runId: string): string {
  const own = join(app, runId);
  mkdirSync(own);
  for (const file of [program, 'model.ts']) {
    const text = readFileSync(join(app, 'node_modules', '@countersign', adapter, 'examples', file), 'utf8');
    const pointed = text.replace('http://127.0.0.1:7400', url).replace(/conversation-42|thread-1/, runId);
    writeFileSync(join(own, file), pointed);
  }
  return own;
}

async function approveFirst(url: string, token: string, runId: string, signal: AbortSignal): Promise<void> {
  const approver = createClient({ url, token });
  for await (const { data } of approver.events({ types: ['ApprovalRequested'], runId, after: 0, signal })) {
    await approver.respond((data as { approvalId: string }).approvalId, { decision: { type: 'approve' } });
    return;
  }
}

describe('an example that is copied from its package', () => {
  let server: KitServer;
  beforeAll(async () => {
    server = await startKitServer(join(root, 'apps', 'cli', 'bin', 'countersign.js'));
  });
  afterAll(() => server.stop());

  it.each(examples)(
    '%s runs with its scripted model, and ends after an approval',
    async (adapter, program) => {
      const env = {
        PATH: process.env['PATH'],
        COUNTERSIGN_TOKEN: server.agentToken,
        COUNTERSIGN_RESOLVER_TOKEN: server.workerToken,
      };
      const stop = new AbortController();
      try {
        const cwd = copyExample(adapter, program, server.url, adapter);
        const ended = run(process.execPath, [program], { cwd, env });
        const approved = approveFirst(server.url, server.approverToken, adapter, stop.signal);
        const [{ stdout }] = await Promise.all([ended, approved]);
        expect(stdout).toContain('The refund is dealt with.');
      } finally {
        stop.abort();
      }
    },
    30_000,
  );
});

describe('an example with Countersign in its own process', () => {
  /** The program around the example. It ends only when nothing of Countersign is left open. */
  const around = (program: string): string => `
    import { openCountersign } from '@countersign/standalone';
    const countersign = await openCountersign();
    process.env.COUNTERSIGN_TOKEN = countersign.connection.token;
    process.env.COUNTERSIGN_RESOLVER_TOKEN = countersign.connection.resolverToken;
    await import('./${program}');
    await countersign.close();`;

  it.each(examples)(
    '%s runs with its scripted model, and ends after an approval',
    async (adapter, program) => {
      const port = await freePort();
      const url = `http://127.0.0.1:${String(port)}`;
      const runId = `${adapter}-in-process`;
      const cwd = copyExample(adapter, program, url, runId);
      mkdirSync(join(cwd, 'node_modules', '@countersign'), { recursive: true });
      symlinkSync(join(root, 'apps', 'standalone'), join(cwd, 'node_modules', '@countersign', 'standalone'));
      writeFileSync(join(cwd, 'around.ts'), around(program));
      const env = { PATH: process.env['PATH'], COUNTERSIGN_PORT: String(port), COUNTERSIGN_LOG_LEVEL: 'warn' };
      const ended = run(process.execPath, ['around.ts'], { cwd, env });
      const stop = new AbortController();
      try {
        const tokens = join(cwd, 'data', 'tokens.json');
        await eventually(`the start of Countersign in ${adapter}`, 30_000, () => existsSync(tokens) || undefined);
        const approver = readTokens(cwd).me;
        const [{ stdout }] = await Promise.all([ended, approveFirst(url, approver, runId, stop.signal)]);
        expect(stdout).toBe('The refund is dealt with.\n');
      } finally {
        stop.abort();
      }
    },
    60_000,
  );
});
