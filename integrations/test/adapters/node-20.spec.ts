// The packages that run on Node 20, on that Node, as a user has them.
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { startKitServer, type KitServer } from '@countersign/conformance';
import { createClient } from '@countersign/worker-sdk';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { entrancesOf, importAll, installPackages, linkFrameworks, whileDeciding } from './installed-packages.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..', '..', '..');
const adapters = join(root, 'integrations', 'adapters');
const node20 = join(adapters, 'node_modules', 'node20', 'bin', 'node');

interface Claim {
  readonly private?: boolean;
  readonly engines?: { readonly node: string };
}

/** The folders of the packages whose manifest allows Node 20. */
const claims = (): readonly string[] =>
  [join(root, 'libs'), join(root, 'integrations'), adapters]
    .flatMap((parent) => readdirSync(parent).map((name) => join(parent, name)))
    .filter((folder) => existsSync(join(folder, 'package.json')))
    .filter((folder) => {
      const { private: own, engines } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Claim;
      return own !== true && engines?.node.startsWith('>=20') === true;
    });

const program = `
  import { createWorker, gateTool } from '@countersign/worker-sdk';
  import { z } from 'zod';

  const ran = [];
  const deleteFile = gateTool({
    name: 'delete_file',
    inputSchema: z.strictObject({ path: z.string() }),
    needsApproval: true,
    execute: async ({ path }) => {
      ran.push(path);
      return { deleted: path };
    },
  });
  const { COUNTERSIGN_URL: url, COUNTERSIGN_TOKEN: token, COUNTERSIGN_RESOLVER_TOKEN: resolverToken } = process.env;
  const worker = createWorker({ url, token, resolverToken, agentId: 'agent', tools: [deleteFile] });
  const toolCalls = [{ toolCallId: 'call_1', toolName: 'delete_file', arguments: { path: 'a.txt' } }];
  const asked = [];
  const onPause = ({ pendingApprovals }) => asked.push(...pendingApprovals.map(({ toolCallId }) => toolCallId));
  const { results } = await worker.run({ runId: 'run-1', toolCalls }, { onPause });
  await worker.close();
  const [{ status, output }] = results;
  console.log(JSON.stringify({ node: process.version, asked, ran, status, output }));`;

/** The platform of the package; integrations/adapters/package.json has no Node 20 for any other. */
if (process.platform === 'linux' && process.arch === 'x64') {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-node-20-'));
  const app = join(folder, 'app');
  let server: KitServer;
  let warnings: string;

  beforeAll(async () => {
    if (!existsSync(node20)) throw new Error(`${node20}: file not found. Run \`npm run adapters\`, which installs it.`);
    const tarballs = join(folder, 'packages');
    mkdirSync(tarballs);
    await run('npm', ['pack', '--silent', '--pack-destination', tarballs, ...claims()]);
    // npm runs on this Node too.
    warnings = await installPackages(tarballs, app, [dirname(node20), process.env['PATH']].join(delimiter));
    linkFrameworks(app, ['langchain', '@langchain', 'zod', 'react', 'react-dom']);
    server = await startKitServer(join(root, 'apps', 'cli', 'bin', 'countersign.js'));
  });
  afterAll(async () => {
    await (server as KitServer | undefined)?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('installs them without a warning of npm about the version of Node', () => {
    expect(warnings).not.toContain('EBADENGINE');
  });

  it('imports every entrance of the packages that say so, without optional packages', async () => {
    const entrances = entrancesOf(app);
    expect([...new Set(entrances.map((name) => name.split('/')[1]))]).toEqual([
      'api-client',
      'conformance',
      'contracts',
      'http-client',
      'json-schema',
      'langchain',
      'react',
      'receipt',
      'text',
      'worker-sdk',
    ]);
    expect(existsSync(join(app, 'node_modules', 'kafkajs'))).toBe(false);
    expect(await importAll(app, entrances, node20)).toBe('all imported\n');
  });

  it('asks for a call, waits for the approval, runs the tool once and reports the result', async () => {
    writeFileSync(join(app, 'approval.js'), program);
    const env = {
      COUNTERSIGN_URL: server.url,
      COUNTERSIGN_TOKEN: server.agentToken,
      COUNTERSIGN_RESOLVER_TOKEN: server.workerToken,
    };
    const approver = { url: server.url, token: server.approverToken };
    const { stdout, stderr } = await whileDeciding('approve', approver, () =>
      run(node20, ['approval.js'], { cwd: app, env, timeout: 100_000 }),
    );
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toEqual({
      node: expect.stringMatching(/^v20\./),
      asked: ['call_1'],
      ran: ['a.txt'],
      status: 'succeeded',
      output: { deleted: 'a.txt' },
    });
    const [call] = (await createClient(approver).getRun('run-1')).calls;
    expect(call).toMatchObject({ state: 'succeeded', output: { deleted: 'a.txt' } });
  });
} else {
  it('is not tried on Node 20, which is not installed for this platform', () => undefined);
}
