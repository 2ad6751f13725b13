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
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { startKitServer, type KitServer } from '@countersign/conformance';
import { createClient } from '@countersign/worker-sdk';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freePort } from '../../../test/ports.ts';
import { inheritedEnvironment } from '../../../test/process/harness/environment.ts';
import { readTokens } from '../../../test/process/harness/tokens.ts';
import { eventually } from '../../../test/process/harness/wait.ts';
import {
  bundle,
  complaintsOfTypes,
  entrancesOf,
  importAll,
  installPackages,
  linkFrameworks,
  manifestsIn,
  whileDeciding,
} from './installed-packages.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..', '..', '..');
const folder = mkdtempSync(join(tmpdir(), 'countersign-packages-'));
const app = join(folder, 'app');

const installed = () => manifestsIn(app);

beforeAll(async () => {
  const packages = join(folder, 'packages');
  await run(process.execPath, [join(root, 'scripts', 'pack.mjs'), packages]);
  await installPackages(packages, app);
  linkFrameworks(app, [
    'ai',
    'langchain',
    '@openai',
    '@langchain',
    '@mastra',
    '@ag-ui',
    '@a2a-js',
    'zod',
    'react',
    'react-dom',
  ]);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('the packed packages can be imported in an empty folder, by each entrance, without optional packages', async () => {
  const entrances = entrancesOf(app);
  expect(entrances).toEqual(expect.arrayContaining(['@countersign/worker-sdk', '@countersign/worker-sdk/kafka']));
  expect(entrances.length).toBeGreaterThan(7);
  expect(await importAll(app, entrances)).toBe('all imported\n');
});

it('a folder that holds anything but our tarballs is refused, and left as it is', async () => {
  const own = mkdtempSync(join(folder, 'own-'));
  writeFileSync(join(own, 'notes.txt'), 'mine');
  await expect(run(process.execPath, [join(root, 'scripts', 'pack.mjs'), own])).rejects.toMatchObject({
    stderr: expect.stringMatching(/notes\.txt, which is no tarball of ours/),
  });
  expect(readdirSync(own)).toEqual(['notes.txt']);
});

it('a program of the worker SDK is bundled whole without kafkajs', async () => {
  expect(existsSync(join(app, 'node_modules', 'kafkajs'))).toBe(false);
  const program = `
    import { createWorker, gateTool } from '@countersign/worker-sdk';
    import { createFakeCountersign } from '@countersign/worker-sdk/testing';
    console.log(typeof createWorker, typeof gateTool, typeof createFakeCountersign);`;
  const bundled = await bundle(app, program);
  // A bundler leaves the name of a package in the text when it does not find the package, or it refuses.
  for (const file of readdirSync(bundled)) expect(readFileSync(join(bundled, file), 'utf8')).not.toContain('kafkajs');
  const alone = join(folder, 'bundled');
  cpSync(bundled, alone, { recursive: true });
  expect((await run(process.execPath, ['program.js'], { cwd: alone })).stdout).toBe('function function function\n');
});

it('a page with the card is bundled whole, evaluates nothing, and loads the editor only when it is opened', async () => {
  const bundled = await bundle(app, "import * as card from '@countersign/react'; globalThis.card = card;");
  const files = readdirSync(bundled).filter((name) => name.endsWith('.js'));
  const textOf = (name: string) => readFileSync(join(bundled, name), 'utf8');
  for (const name of files) expect(textOf(name)).not.toMatch(/\beval\(|new Function\(|dangerouslySetInnerHTML: *\{/);
  expect(files.filter((name) => textOf(name).includes('cm-content')).length).toBeGreaterThan(0);
  expect(textOf('program.js')).not.toContain('cm-content');
});

it('a worker with Kafka says which package is missing', async () => {
  const program = `
    import { createWorker } from '@countersign/worker-sdk';
    import { kafka } from '@countersign/worker-sdk/kafka';
    import { createFakeCountersign } from '@countersign/worker-sdk/testing';
    const { fetch } = createFakeCountersign();
    const worker = createWorker({
      ...{ kafka: kafka({ brokers: ['127.0.0.1:9092'] }), url: 'http://ledger.test', fetch },
      ...{ token: 't', agentId: 'agent', tools: [] },
    });
    await worker.cancelRun('run-1', 'tried').catch(({ message }) => console.log(message));`;
  writeFileSync(join(app, 'without-kafkajs.js'), program);
  const { stdout } = await run(process.execPath, ['without-kafkajs.js'], { cwd: app });
  expect(stdout).toContain('needs kafkajs 2: npm install kafkajs');
});

it('the types of the SDK need no types of Node and of kafkajs', async () => {
  const libraries = /^@countersign\/(contracts|http-client|json-schema|text|api-client|worker-sdk|conformance)(\/|$)/;
  const names = entrancesOf(app).filter((name) => libraries.test(name));
  expect(names).toEqual(expect.arrayContaining(['@countersign/worker-sdk', '@countersign/worker-sdk/kafka']));
  expect(await complaintsOfTypes(app, names)).toBe('');
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
    const path = `${dirname(process.execPath)}${delimiter}${process.env['PATH'] ?? ''}`;
    const env = { ...inheritedEnvironment(), PATH: path, HOME: app, COUNTERSIGN_URL: server.url };
    return run('bash', ['-c', command], { cwd: app, env });
  };
  const approver = () => ({ url: server.url, token: server.approverToken });
  const pending = async () => (await createClient(approver()).listApprovals({ state: 'pending' })).approvals;
  /** Copies the files of an example as its README says, and returns the command that starts it. */
  async function copied(name: string): Promise<string> {
    const [install, copy = '', start = '', ...more] = quickstartOf(
      join(app, 'node_modules', '@countersign', name, 'README.md'),
    );
    expect([install, more]).toEqual([expect.stringMatching(/^npm install /), []]);
    await shell(copy);
    const port = String(await freePort());
    for (const file of readdirSync(app).filter((one) => one.endsWith('.ts')))
      writeFileSync(join(app, file), readFileSync(join(app, file), 'utf8').replaceAll('8000', port));
    return start;
  }
  /** The files of the folder with the time of their last change. */
  const filesOf = (): ReadonlyMap<string, number> =>
    new Map(readdirSync(app).map((name) => [name, statSync(join(app, name)).mtimeMs]));

  it.each([
    ['worker-sdk', 'first-approval.ts', 'delete_file succeeded', ['countersign-example.txt']],
    ['ai-sdk', 'refund.ts', 'The result of the refund: {"refunded":50}', []],
    ['langchain', 'refunds.ts', 'The result of the refund: {"refunded":50}', []],
    ['mastra', 'refund.ts', 'The result of the refund: {"refunded":50}', ['runs.db']],
    ['openai-agents', 'refund.ts', 'The result of the refund: {"refunded":50}', []],
    ['ag-ui', 'client.ts', 'The result of the refund: {"refunded":50}', []],
    ['a2a', 'client.ts', 'The result of the refund: {"refunded":50}', []],
  ])(
    '%s: three commands run it without a copied token, and it changes only its own files',
    async (name, program, last, own) => {
      const start = await copied(name);
      const before = filesOf();
      // The comparison below sees this folder alone, so the program must name no path outside it.
      expect(readFileSync(join(app, program), 'utf8')).not.toMatch(/['"`](\/|\.\.|~)/);
      const { stdout, stderr } = await whileDeciding('approve', approver(), () => shell(start));
      expect(stdout).toContain(last);
      expect(stderr).toBe('');
      const after = filesOf();
      const names = [...new Set([...before.keys(), ...after.keys()])];
      expect(names.filter((file) => before.get(file) !== after.get(file))).toEqual(own);
    },
  );

  it.each(['ai-sdk', 'langchain', 'mastra', 'openai-agents', 'ag-ui', 'a2a'])(
    '%s: asks again when it runs again, and says that a person denied the call',
    async (name) => {
      const start = await copied(name);
      const ended = shell(start);
      await eventually('a pending approval', async () => (await pending())[0]);
      // A person decides later than the agent pauses. AG-UI and A2A have no way to tell a running agent of a denial.
      await setTimeout(500);
      const { stdout } = await whileDeciding('deny', approver(), () => ended);
      expect(stdout).toMatch(/^The result of the refund: .*denied/im);
      expect(stdout).not.toContain('refunded');
    },
  );

  it.each(['ai-sdk', 'mastra', 'langchain', 'openai-agents', 'ag-ui', 'a2a', 'worker-sdk'])(
    '%s: says that the token is wrong, and ends with an error',
    async (name) => {
      const command = `COUNTERSIGN_TOKEN=cs_wrong ${await copied(name)}`;
      await expect(shell(command)).rejects.toMatchObject({ code: 1, stderr: expect.stringMatching(/token/i) });
    },
  );

  it('says in one line where the tokens come from when there are none', async () => {
    const [, , start = ''] = quickstartOf(join(app, 'node_modules', '@countersign', 'worker-sdk', 'README.md'));
    const error = (await shell(`COUNTERSIGN_DATA=nowhere ${start}`).catch((thrown: unknown) => thrown)) as object;
    const stderr = expect.stringMatching(/^No token of "agent" in nowhere.tokens\.json: start the server with .*\n$/);
    expect(error).toMatchObject({ code: 1, stderr });
  });

  it('the server of AG-UI goes on after a body that is no input', async () => {
    await shell('cp node_modules/@countersign/ag-ui/examples/server.ts .');
    const port = String(await freePort());
    const text = readFileSync(join(app, 'server.ts'), 'utf8');
    writeFileSync(join(app, 'server.ts'), text.replace('8000', port));
    const tokens = ['--import', '../countersign/examples/local-tokens.mjs'];
    const child = execFile(process.execPath, [...tokens, 'server.ts'], {
      cwd: app,
      env: { COUNTERSIGN_URL: server.url },
    });
    const post = async (body: string) =>
      (await fetch(`http://127.0.0.1:${port}`, { method: 'POST', body })).text().catch(String);
    try {
      await eventually('the start of the server', () => post('no JSON').then(String, () => undefined));
      const bodies = ['', 'no JSON', 'null', '{}'];
      for (const body of bodies) expect(await post(body)).toContain('"type":"RUN_ERROR"');
      const input = { threadId: 'bodies', runId: 'r1', messages: [], tools: [], context: [], state: {} };
      expect(await post(JSON.stringify(input))).toContain('"reason":"tool_call"');
    } finally {
      child.kill();
    }
  });

  it('the chat route refuses a body that is no chat with 400, and streams a chat up to the question', async () => {
    await shell('cp node_modules/@countersign/ai-sdk/examples/{chat-route,model}.ts .');
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
  });
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
  function folderOf(adapter: string, program: string): string {
    const own = join(app, `${adapter}-in-process`);
    mkdirSync(join(own, 'node_modules', '@countersign'), { recursive: true });
    symlinkSync(join(root, 'apps', 'standalone'), join(own, 'node_modules', '@countersign', 'standalone'));
    for (const file of [program, 'model.ts'])
      cpSync(join(app, 'node_modules', '@countersign', adapter, 'examples', file), join(own, file));
    writeFileSync(join(own, 'around.ts'), around(program));
    return own;
  }

  it.each([
    ['ai-sdk', 'refund.ts'],
    ['langchain', 'refunds.ts'],
    ['mastra', 'refund.ts'],
    ['openai-agents', 'refund.ts'],
  ])('%s runs with its scripted model, and ends after an approval', async (adapter, program) => {
    const port = await freePort();
    const url = `http://127.0.0.1:${String(port)}`;
    const cwd = folderOf(adapter, program);
    const settings = { COUNTERSIGN_PORT: String(port), COUNTERSIGN_URL: url, COUNTERSIGN_LOG_LEVEL: 'warn' };
    const ended = run(process.execPath, ['around.ts'], { cwd, env: { ...inheritedEnvironment(), ...settings } });
    const tokens = join(cwd, 'data', 'tokens.json');
    await eventually(`the start of Countersign in ${adapter}`, () => existsSync(tokens) || undefined);
    const { stdout } = await whileDeciding('approve', { url, token: readTokens(cwd).me }, () => ended);
    const waiting = `Decide: ${url}/approvals/`;
    expect(stdout.split('\n').filter((line) => !line.startsWith(waiting))).toEqual([
      'The result of the refund: {"refunded":50}',
      '',
    ]);
    expect(stdout).toContain(waiting);
  });

  it('says in which folder the tokens of people are', async () => {
    const [cwd, port] = [join(app, 'in-process'), await freePort()];
    mkdirSync(join(cwd, 'node_modules', '@countersign'), { recursive: true });
    symlinkSync(join(root, 'apps', 'standalone'), join(cwd, 'node_modules', '@countersign', 'standalone'));
    cpSync(join(root, 'examples', 'in-process.ts'), join(cwd, 'in-process.ts'));
    const url = `http://127.0.0.1:${String(port)}`;
    const data = join(cwd, 'other', 'data');
    const settings = { COUNTERSIGN_DATA: data, COUNTERSIGN_PORT: String(port), COUNTERSIGN_LOG_LEVEL: 'warn' };
    const ended = run(process.execPath, ['in-process.ts'], { cwd, env: { ...inheritedEnvironment(), ...settings } });
    const file = join(data, 'tokens.json');
    await eventually('the start of Countersign', () => existsSync(file) || undefined);
    const token = readTokens(join(cwd, 'other')).me;
    const { stdout } = await whileDeciding('approve', { url, token }, () => ended);
    expect(stdout).toContain(`Decide at ${url} with the token of "me" in ${file}.\n`);
  });
});
