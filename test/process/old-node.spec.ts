import { execFileSync } from 'node:child_process';
import { linkSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { freePort } from '../ports.js';
import { startRole, storeUrl, writeTokens } from './cluster/roles.js';
import { cleanUpAfterEach, onCleanup, temporaryFolder } from './harness/cleanup.js';
import { inheritedEnvironment } from './harness/environment.js';
import { startReadyServer } from './harness/server.js';
import type { Server } from './harness/server.js';
import { eventually } from './harness/wait.js';

cleanUpAfterEach();

const root = join(import.meta.dirname, '..', '..');
const version = '26.10.0';

/** Loads a line of JavaScript first: it pretends that the process runs on an older Node, and does `more`. */
function pretendOldNode(more = ''): string {
  const script = `Object.defineProperty(process,"versions",{value:{...process.versions,node:"${version}"}});${more}`;
  return `--import=data:text/javascript,${encodeURIComponent(script)}`;
}

const health = async ({ http }: Server): Promise<unknown> =>
  (await http.send({ method: 'GET', path: '/healthz' })).body;

const warnings = (server: Server): readonly unknown[] =>
  server
    .output()
    .split('\n')
    .filter((line) => line.includes('known security flaws'))
    .map((line) => JSON.parse(line) as unknown);

const unsafe = { status: 'ok', node: { version, safe: false, update: '26.12.1' } };
const warned = [
  {
    level: 'warn',
    version,
    update: '26.12.1',
    remedy: expect.stringContaining('install Node 26.12.1 or newer and restart'),
    message: `Node ${version} has known security flaws`,
  },
];

describe('a process on a Node with known security flaws', () => {
  test('standalone runs, warns once, and says so in its health', async () => {
    const env = { NODE_OPTIONS: pretendOldNode() };
    const server = await startReadyServer({ folder: temporaryFolder(), port: await freePort(), env });
    expect(await health(server)).toMatchObject(unsafe);
    expect(warnings(server)).toMatchObject(warned);
  });

  test.each(['gateway', 'relay'])('the role %s of a cluster does too', async (role) => {
    const server = await startRole(role, {
      NODE_OPTIONS: pretendOldNode(),
      COUNTERSIGN_EVENTSTORE_URL: storeUrl(await freePort()),
      COUNTERSIGN_KAFKA_BROKERS: '127.0.0.1:1',
      COUNTERSIGN_TOKENS_FILE: writeTokens(),
    });
    const answered = await eventually('the health', () => health(server).catch(() => undefined));
    expect(answered).toMatchObject(unsafe);
    expect(warnings(server)).toMatchObject(warned);
  });

  test('hands over to the pinned Node where that is newer', () => {
    const folder = join(root, '.cache', `old-node-${String(process.pid)}`);
    mkdirSync(folder, { recursive: true });
    onCleanup(() => {
      rmSync(folder, { recursive: true });
    });
    const old = join(folder, 'node');
    linkSync(process.execPath, old);
    const output = execFileSync(old, [join(root, 'apps', 'cli', 'bin', 'countersign.js'), '--version'], {
      encoding: 'utf8',
      env: { ...inheritedEnvironment(), NODE_OPTIONS: pretendOldNode('console.log(process.execPath)') },
    });
    expect(output.split('\n').slice(0, 2)).toEqual([old, process.execPath]);
  });
});

test('a process on a safe Node does not warn', async () => {
  const server = await startReadyServer({ folder: temporaryFolder(), port: await freePort() });
  expect(await health(server)).toMatchObject({ status: 'ok', node: { version: process.versions.node, safe: true } });
  expect(warnings(server)).toEqual([]);
});
