import { spawn } from 'node:child_process';
import { existsSync, lstatSync, readFileSync, readdirSync, realpathSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { createClient, type ApprovalView, type Client } from '@countersign/worker-sdk';
import { cleanUpAfterEach, onCleanup, temporaryFolder } from './harness/cleanup.js';
import { freePort } from '../ports.js';
import { startReadyServer } from './harness/server.js';
import { readTokens } from './harness/tokens.js';
import { eventually } from './harness/wait.js';

cleanUpAfterEach();

const root = join(import.meta.dirname, '..', '..');

interface Demo {
  readonly output: () => string;
  readonly ended: Promise<number | null>;
  readonly kill: () => Promise<void>;
}

function startExample(script: string, args: readonly string[], env: Readonly<Record<string, string>>): Demo {
  const child = spawn(process.execPath, [join(root, 'examples', script), ...args], {
    cwd: temporaryFolder(),
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  }
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await ended;
  };
  onCleanup(kill);
  return { output: () => text, ended, kill };
}

async function startServer() {
  const folder = temporaryFolder();
  const port = await freePort();
  await startReadyServer({ folder, port });
  const url = `http://127.0.0.1:${port}`;
  const env = { COUNTERSIGN_URL: url, COUNTERSIGN_DATA: join(folder, 'data') };
  return { env, me: createClient({ url, token: readTokens(folder).me }) };
}

/** Responds to every approval until stopped; it denies those with a word of `denied` in their description. */
function startApprover(
  me: Client,
  denied: readonly string[],
): { readonly seen: ApprovalView[]; readonly stop: () => void } {
  const seen: ApprovalView[] = [];
  const status = { isStopped: false };
  const answerAll = async (): Promise<void> => {
    while (!status.isStopped) {
      for (const approval of (await me.listApprovals({ state: 'pending' })).approvals) {
        seen.push(approval);
        const isDenied = denied.some((word) => approval.description?.includes(word) === true);
        const { approvalId, actionDigest } = approval;
        const decision = { type: isDenied ? 'deny' : 'approve' } as const;
        await me.respond(approvalId, { decision, actionDigest, reason: 'seen by a test' });
      }
      await sleep(50);
    }
  };
  const answering = answerAll();
  onCleanup(async () => {
    status.isStopped = true;
    await answering;
  });
  return { seen, stop: () => (status.isStopped = true) };
}

function effectsIn(scratch: string) {
  const db = new DatabaseSync(join(scratch, 'orders.db'), { readOnly: true });
  const order = db.prepare('SELECT status FROM orders WHERE id = 1').get();
  db.close();
  return {
    outside: readdirSync(join(scratch, 'outside')).sort(),
    plan: existsSync(join(scratch, 'workspace', 'notes', 'plan.md')),
    domains: JSON.parse(readFileSync(join(scratch, 'domains.json'), 'utf8')) as unknown,
    order: order?.['status'],
  };
}

test('the demo does what was approved, and nothing that was denied', async () => {
  const { env, me } = await startServer();
  const approver = startApprover(me, ['Delete', 'hidden.md']);
  const scratch = temporaryFolder();
  const demo = startExample('demo.ts', ['--scratch', scratch], env);
  expect(await demo.ended).toBe(0);
  expect(effectsIn(scratch)).toEqual({
    outside: ['precious.txt', 'report.md'],
    plan: true,
    domains: ['docs.example.test', 'news.example.test'],
    order: 'refunded',
  });
  // Each has one approval, under its real path: the link inside the workspace hides nothing.
  const outside = realpathSync(join(scratch, 'outside'));
  expect(approver.seen.map(({ toolName, arguments: args }) => [toolName, args['path'] ?? null])).toEqual([
    ['write_file', join(outside, 'report.md')],
    ['write_file', join(outside, 'hidden.md')],
    ['delete_file', join(outside, 'precious.txt')],
    ['web_fetch', null],
    ['add_domain', null],
    ['execute_sql', null],
  ]);
  expect(lstatSync(join(scratch, 'workspace', 'shortcut')).isSymbolicLink()).toBe(true);
  expect(demo.output()).toMatch(/delete_file {2}denied +The call was denied by me .*: seen by a test/);
  expect(demo.output()).toMatch(/npx countersign approve apr_\w+ {3}# delete_file: Delete /);
});

test('an approved fetch opens nothing: without add_domain the next one is asked about again', async () => {
  const { env, me } = await startServer();
  const approver = startApprover(me, ['for good', 'UPDATE']);
  const scratch = temporaryFolder();
  expect(await startExample('demo.ts', ['--scratch', scratch], env).ended).toBe(0);
  expect(approver.seen.map(({ toolName }) => toolName).filter((name) => name === 'web_fetch')).toHaveLength(2);
  expect(effectsIn(scratch)).toMatchObject({
    domains: ['docs.example.test'],
    order: 'paid',
    outside: ['hidden.md', 'report.md'],
  });
});

test('the demo continues where it was killed, and asks about no call twice', async () => {
  const { env, me } = await startServer();
  const scratch = temporaryFolder();
  const first = startExample('demo.ts', ['--scratch', scratch], env);
  await eventually('the pause', () => (first.output().includes('paused, 6 approval(s)') ? true : undefined));
  const before = (await me.listApprovals({ state: 'pending' })).approvals.map(({ approvalId }) => approvalId);
  await first.kill();
  // The agent's process has noticed that its parent has ended: it no longer acts on responses.
  await sleep(500);
  const approver = startApprover(me, ['Delete']);
  await eventually('the answers', () => (approver.seen.length === 6 ? true : undefined));
  await sleep(500);
  expect(effectsIn(scratch)).toMatchObject({ outside: ['precious.txt'], order: 'paid' });

  const second = startExample('demo.ts', ['--scratch', scratch], env);
  expect(await second.ended).toBe(0);
  expect(second.output()).toContain('going on');
  expect(approver.seen.map(({ approvalId }) => approvalId)).toEqual(before);
  expect(effectsIn(scratch)).toMatchObject({ outside: ['hidden.md', 'precious.txt', 'report.md'], order: 'refunded' });
});

test('without a server the demo says how to get one', async () => {
  const demo = startExample('demo.ts', [], { COUNTERSIGN_URL: `http://127.0.0.1:${await freePort()}` });
  expect(await demo.ended).toBe(1);
  expect(demo.output()).toMatch(/No Countersign answers at .*\n.*npm start.*--with-server/);
});

test('the demo can bring its own server, and the commands that it prints reach it', async () => {
  const scratch = temporaryFolder();
  const demo = startExample('demo.ts', ['--with-server', '--scratch', scratch], {});
  const command = /COUNTERSIGN_URL=(\S+) COUNTERSIGN_DATA=(\S+) npx countersign (approve) (\S+)/g;
  await eventually('the commands', () => (/in place of/.test(demo.output()) ? true : undefined));
  const commands = [...demo.output().matchAll(command)];
  expect(commands).toHaveLength(6);
  const cli = join(root, 'apps', 'cli', 'bin', 'countersign.js');
  for (const [, url = '', data = '', verb = '', approvalId = ''] of commands) {
    const env = { PATH: process.env['PATH'], COUNTERSIGN_URL: url, COUNTERSIGN_DATA: data };
    const child = spawn(process.execPath, [cli, verb, approvalId], { env, stdio: 'ignore' });
    expect(await new Promise((resolve) => child.once('close', resolve))).toBe(0);
  }
  expect(await demo.ended).toBe(0);
  expect(effectsIn(scratch)).toMatchObject({ outside: ['hidden.md', 'report.md'], order: 'refunded' });
  const [, url = ''] = commands[0] ?? [];
  await expect(fetch(`${url}/healthz`)).rejects.toThrow('fetch failed');
});

/** Types the commands of a guide into one shell. Returns the lines that they print. */
async function typed(guide: string): Promise<readonly string[]> {
  const { env } = await startServer();
  const text = readFileSync(join(root, guide), 'utf8');
  const commands = [...text.matchAll(/^```sh\n([^]*?)^```/gm)].map(([, block]) => block ?? '');
  const shell = spawn('bash', ['-euo', 'pipefail', '-c', commands.join('\n')], {
    cwd: temporaryFolder(),
    env: { PATH: `${dirname(process.execPath)}${delimiter}${process.env['PATH'] ?? ''}`, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  shell.stdout.setEncoding('utf8').on('data', (chunk: string) => (output += chunk));
  expect(await new Promise((resolve) => shell.once('close', resolve))).toBe(0);
  return output.split('\n').slice(0, -1);
}

test('the commands of curl.md do what they say', async () => {
  expect((await typed('examples/curl.md')).slice(1)).toEqual([
    'approved',
    'approved',
    "{ path: '/tmp/hosts' }",
    'already-claimed',
    'succeeded',
    ...['ToolCallRequested', 'ApprovalRequested', 'ApprovalResponded', 'ExecutionClaimed', 'ExecutionSucceeded'],
  ]);
});

test('the commands of the guide to plain HTTP do what they say', async () => {
  expect(await typed('docs/http.md')).toEqual([
    ...['awaiting_approval', 'approved', 'approved', '1', 'the digest is right', '1', 'succeeded'],
    ...['succeeded', 'succeeded', 'already-settled'],
    ...['already-settled', 'tool-call-mismatch'],
  ]);
});

test('the quickstart waits for one of its two mails', async () => {
  const { env, me } = await startServer();
  startApprover(me, []);
  const quickstart = startExample('quickstart.ts', [], env);
  expect(await quickstart.ended).toBe(0);
  expect(quickstart.output()).toMatch(/waiting: Send "Minutes" to press@example.org\n {2}npx countersign approve apr_/);
  expect(quickstart.output()).toMatch(/press@example.org succeeded \{ sentTo: 'press@example.org' \}/);
});
