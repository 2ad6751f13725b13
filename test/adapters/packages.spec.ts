import { execFile } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
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

/** The commands of a README that a newcomer runs in an empty folder next to the clone, before the first section. */
function quickstartOf(readme: string): readonly string[] {
  const [start = ''] = readFileSync(readme, 'utf8').split('\n## ');
  return [...start.matchAll(/^```sh\n([^]*?)^```$/gm)].flatMap(([, block = '']) => block.trim().split('\n'));
}

/** Points a copied example to the server and to a run of its own. */
function point(file: string, url: string, runId: string): void {
  const text = readFileSync(file, 'utf8').replace('http://127.0.0.1:7400', url);
  writeFileSync(file, text.replace(/(chat|conversation|run|session|thread)-(1|2|42)/, runId));
}

/** Approves the first pending call, of any run when none is given. */
async function approveFirst(url: string, token: string, runId: string | undefined, signal: AbortSignal): Promise<void> {
  const approver = createClient({ url, token });
  for await (const { data } of approver.events({ types: ['ApprovalRequested'], runId, after: 0, signal })) {
    const { approvalId } = data as { approvalId: string };
    if ((await approver.getApproval(approvalId)).state !== 'pending') continue;
    await approver.respond(approvalId, { decision: { type: 'approve' } });
    return;
  }
}

describe('an example that is run as its README says', () => {
  let server: KitServer;
  beforeAll(async () => {
    server = await startKitServer(join(root, 'apps', 'cli', 'bin', 'countersign.js'));
    // The clone next to the project, with the tokens of a first start.
    const clone = join(folder, 'countersign');
    mkdirSync(join(clone, 'data'), { recursive: true });
    cpSync(join(root, 'examples', 'local-tokens.mjs'), join(clone, 'examples', 'local-tokens.mjs'));
    const tokens = [
      { principal: 'agent', token: server.agentToken },
      { principal: 'worker', token: server.workerToken },
    ];
    writeFileSync(join(clone, 'data', 'tokens.json'), JSON.stringify(tokens));
  });
  afterAll(() => server.stop());

  const shell = (command: string) => {
    const env = { PATH: `${dirname(process.execPath)}${delimiter}${process.env['PATH'] ?? ''}`, HOME: app };
    return run('bash', ['-c', command], { cwd: app, env });
  };
  /** The files of the folder with the time of their last change. */
  const filesOf = (): ReadonlyMap<string, number> =>
    new Map(readdirSync(app).map((name) => [name, statSync(join(app, name)).mtimeMs]));

  it.each([
    ['worker-sdk', 'first-approval.ts', 'delete_file succeeded', ['countersign-example.txt']],
    ['ai-sdk', 'refund.ts', 'The refund is dealt with.', []],
    ['langchain', 'refunds.ts', 'The refund is dealt with.', []],
    ['mastra', 'refund.ts', 'The refund is dealt with.', ['runs.db']],
    ['openai-agents', 'refund.ts', 'The refund is dealt with.', []],
    ['ag-ui', 'client.ts', 'The result of the refund: {"refunded":50}', []],
    ['a2a', 'client.ts', 'The result of the refund: {"refunded":50}', []],
  ])(
    '%s: three commands run it without a copied token, and it changes only its own files',
    async (name, program, last, own) => {
      const readme = join(app, 'node_modules', '@countersign', name, 'README.md');
      const [install, copy = '', start = '', ...more] = quickstartOf(readme);
      expect([install, more]).toEqual([expect.stringMatching(/^npm install /), []]);
      await shell(copy);
      const port = String(await freePort());
      for (const file of readdirSync(app).filter((one) => one.endsWith('.ts'))) {
        point(join(app, file), server.url, name);
        writeFileSync(join(app, file), readFileSync(join(app, file), 'utf8').replaceAll('8000', port));
      }
      const before = filesOf();
      // The comparison below sees this folder alone, so the program must name no path outside it.
      expect(readFileSync(join(app, program), 'utf8')).not.toMatch(/['"`](\/|\.\.|~)/);
      const stop = new AbortController();
      try {
        const [{ stdout, stderr }] = await Promise.all([
          shell(start),
          approveFirst(server.url, server.approverToken, name === 'a2a' ? undefined : name, stop.signal),
        ]);
        expect(stdout).toContain(last);
        expect(stderr).toBe('');
      } finally {
        stop.abort();
      }
      const after = filesOf();
      const names = [...new Set([...before.keys(), ...after.keys()])];
      expect(names.filter((file) => before.get(file) !== after.get(file))).toEqual(own);
    },
    30_000,
  );

  it('says in one line where the tokens come from when there are none', async () => {
    const [, , start = ''] = quickstartOf(join(app, 'node_modules', '@countersign', 'worker-sdk', 'README.md'));
    const error = (await shell(`COUNTERSIGN_DATA=nowhere ${start}`).catch((thrown: unknown) => thrown)) as object;
    const stderr = expect.stringMatching(/^No token of "agent" in nowhere.tokens\.json: start the server with .*\n$/);
    expect(error).toMatchObject({ code: 1, stderr });
  });

  it('the server of AG-UI goes on after a body that is no input', async () => {
    await shell('cp node_modules/@countersign/ag-ui/examples/server.ts .');
    point(join(app, 'server.ts'), server.url, 'ag-ui');
    const port = String(await freePort());
    const text = readFileSync(join(app, 'server.ts'), 'utf8');
    writeFileSync(join(app, 'server.ts'), text.replace('8000', port));
    const tokens = ['--import', '../countersign/examples/local-tokens.mjs'];
    const child = execFile(process.execPath, [...tokens, 'server.ts'], { cwd: app, env: {} });
    const post = async (body: string) =>
      (await fetch(`http://127.0.0.1:${port}`, { method: 'POST', body })).text().catch(String);
    try {
      await eventually('the start of the server', 20_000, () => post('no JSON').then(String, () => undefined));
      const bodies = ['', 'no JSON', 'null', '{}'];
      for (const body of bodies) expect(await post(body)).toContain('"type":"RUN_ERROR"');
      const input = { threadId: 'bodies', runId: 'r1', messages: [], tools: [], context: [], state: {} };
      expect(await post(JSON.stringify(input))).toContain('"reason":"tool_call"');
    } finally {
      child.kill();
    }
  }, 30_000);

  it('the chat route refuses a body that is no chat with 400, and streams a chat up to the question', async () => {
    await shell('cp node_modules/@countersign/ai-sdk/examples/{chat-route,model}.ts .');
    point(join(app, 'chat-route.ts'), server.url, 'chat');
    const chat = (part: unknown) => ({ id: 'chat', messages: [{ id: 'm', role: 'user', parts: [part] }] });
    const bodies = [
      'no JSON',
      'null',
      '{"id":"chat"}',
      JSON.stringify(chat(null)),
      JSON.stringify(chat({ type: 'tool-refund', toolCallId: 'c1', state: 'approved', input: {} })),
      JSON.stringify(chat({ type: 'text', text: 'Refund 50, please.' })),
    ];
    const program = `
      import { POST } from './chat-route.ts';
      const answers = [];
      for (const body of ${JSON.stringify(bodies)}) {
        const response = await POST(new Request('http://chat.test', { method: 'POST', body }));
        answers.push({ status: response.status, body: await response.text() });
      }
      console.log(JSON.stringify(answers));
      process.exit();`;
    writeFileSync(join(app, 'post.ts'), program);
    const { stdout } = await shell('node --import ../countersign/examples/local-tokens.mjs post.ts');
    const answers = JSON.parse(stdout) as { status: number; body: string }[];
    expect(answers.map(({ status }) => status)).toEqual([400, 400, 400, 400, 400, 200]);
    for (const { body } of answers.slice(0, -1)) expect(JSON.parse(body)).toEqual({ error: expect.any(String) });
    expect(answers.at(-1)?.body).toContain('"type":"tool-approval-request"');
  }, 30_000);
});

describe('an example with Countersign in its own process', () => {
  /** A program that starts Countersign and the example. It ends only when Countersign leaves nothing open. */
  const around = (program: string): string => `
    import { openCountersign } from '@countersign/standalone';
    const countersign = await openCountersign();
    process.env.COUNTERSIGN_TOKEN = countersign.connection.token;
    process.env.COUNTERSIGN_RESOLVER_TOKEN = countersign.connection.resolverToken;
    await import('./${program}');
    await countersign.close();`;

  /** A folder with the example, and with this clone's package. */
  function folderOf(adapter: string, program: string, url: string): string {
    const own = join(app, `${adapter}-in-process`);
    mkdirSync(join(own, 'node_modules', '@countersign'), { recursive: true });
    symlinkSync(join(root, 'apps', 'standalone'), join(own, 'node_modules', '@countersign', 'standalone'));
    for (const file of [program, 'model.ts'])
      cpSync(join(app, 'node_modules', '@countersign', adapter, 'examples', file), join(own, file));
    point(join(own, program), url, adapter);
    writeFileSync(join(own, 'around.ts'), around(program));
    return own;
  }

  it.each([
    ['ai-sdk', 'refund.ts'],
    ['langchain', 'refunds.ts'],
    ['mastra', 'refund.ts'],
    ['openai-agents', 'refund.ts'],
  ])(
    '%s runs with its scripted model, and ends after an approval',
    async (adapter, program) => {
      const port = await freePort();
      const url = `http://127.0.0.1:${String(port)}`;
      const cwd = folderOf(adapter, program, url);
      const env = { PATH: process.env['PATH'], COUNTERSIGN_PORT: String(port), COUNTERSIGN_LOG_LEVEL: 'warn' };
      const ended = run(process.execPath, ['around.ts'], { cwd, env });
      const stop = new AbortController();
      try {
        const tokens = join(cwd, 'data', 'tokens.json');
        await eventually(`the start of Countersign in ${adapter}`, 30_000, () => existsSync(tokens) || undefined);
        const [{ stdout }] = await Promise.all([ended, approveFirst(url, readTokens(cwd).me, adapter, stop.signal)]);
        expect(stdout).toBe('The refund is dealt with.\n');
      } finally {
        stop.abort();
      }
    },
    60_000,
  );
});
