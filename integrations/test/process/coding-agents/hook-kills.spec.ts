import { beforeAll, describe, expect, it } from '@jest/globals';
import { spawn, type ChildProcess } from 'node:child_process';
import { copyFileSync, readFileSync } from 'node:fs';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createClient, type Client } from '@countersign/worker-sdk';
import { cleanUpAfterAll, onCleanup, temporaryFolder } from '../../../../test/process/harness/cleanup.js';
import { install, type Installation } from '../../../../test/process/harness/standalone.js';
import { eventually } from '../../../../test/process/harness/wait.js';
import { configurations, environmentOf } from './configurations.js';

cleanUpAfterAll();

/** A moment in the life of a hook. */
interface Moment {
  readonly name: string;
  readonly isReached: (method: string, url: string) => boolean;
  /** The ledger does what it was asked, and its answer is lost with the process. */
  readonly isAfterAnswer?: boolean;
  readonly state: string | undefined;
}

const moments: readonly Moment[] = [
  { name: 'before it asks', isReached: (method) => method === 'GET', state: undefined },
  {
    name: 'after it asked',
    isReached: (method, url) => method === 'POST' && url === '/v1/tool-calls',
    isAfterAnswer: true,
    state: 'awaiting_approval',
  },
  { name: 'while it waits', isReached: (_method, url) => url.includes('waitMs'), state: 'awaiting_approval' },
  { name: 'after the approval', isReached: (_method, url) => url.endsWith('/claim'), state: 'approved' },
  {
    name: 'after its claim, before it answers',
    isReached: (_method, url) => url.endsWith('/claim'),
    isAfterAnswer: true,
    state: 'executing',
  },
];

let place: Installation;
let ledger: Client;
let oldNode: readonly string[];
beforeAll(async () => {
  place = await install();
  ledger = createClient({ url: `http://127.0.0.1:${place.port}`, token: place.tokens.me });
  // The launcher takes it for an old one, and hands over to the pinned one.
  const file = join(temporaryFolder(), 'old-node');
  copyFileSync(process.execPath, file);
  const versions = `Object.defineProperty(process, 'versions', { value: { ...process.versions, sqlite: '3.49.1' } });`;
  oldNode = [file, '--import', `data:text/javascript,${encodeURIComponent(versions)}`];
});

/** Starts a hook under the launcher: the process of the launcher, and its end. */
function startHook(url: string, input: object): { readonly child: ChildProcess; readonly end: Promise<object> } {
  const [command = '', ...options] = oldNode;
  const cli = join(import.meta.dirname, '../../../../apps/cli/bin/countersign.js');
  const env = { ...environmentOf(place.port, place.dataFolder), COUNTERSIGN_URL: url };
  const child = spawn(command, [...options, cli, 'hook', 'claude-code'], { env, stdio: ['pipe', 'pipe', 'ignore'] });
  let out = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stdin.end(JSON.stringify(input));
  const end = new Promise<object>((resolve) => {
    child.once('close', (code) => {
      resolve({ code, out });
    });
  });
  return { child, end };
}

/** The process that the launcher has started. */
function innerOf({ pid }: ChildProcess): number {
  const [inner, ...more] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
  if (inner === undefined || more.length > 0) throw new Error('the launcher has not exactly one child');
  return Number(inner);
}

/** A server in front of the ledger that calls `reached` in place of the answer at this moment. */
async function between({ isReached, isAfterAnswer = false }: Moment, reached: () => void): Promise<string> {
  const pass = (from: IncomingMessage, to: ServerResponse): void => {
    const { method = '', url = '', headers } = from;
    const isNow = isReached(method, url);
    if (isNow && !isAfterAnswer) {
      reached();
      return;
    }
    const onward = request({ host: '127.0.0.1', port: place.port, method, path: url, headers }, (answer) => {
      if (isNow) reached();
      else answer.pipe(to.writeHead(answer.statusCode ?? 0, answer.headers));
    });
    onward.on('error', () => to.destroy());
    from.pipe(onward);
  };
  const server = createServer(pass).listen(0, '127.0.0.1');
  onCleanup(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  await new Promise((resolve) => server.once('listening', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('a hook that is killed outright', () => {
  it.each(moments)('blocks the tool $name', async (moment) => {
    const session = `killed ${moment.name}`;
    const call = configurations[0]?.input(session, 'make') ?? {};
    const url = await between(moment, () => process.kill(innerOf(hook.child), 'SIGKILL'));
    const hook = startHook(url, call);
    if (moment.state === 'approved' || moment.state === 'executing') {
      const { approvalId, proposal } = await eventually('an approval', async () => {
        const { approvals } = await ledger.listApprovals({ state: 'pending', runId: session });
        return approvals[0];
      });
      await ledger.respond(approvalId, { decision: { type: 'approve' }, proposalDigest: proposal.digest });
    }
    expect(await hook.end).toEqual({ code: 2, out: '' });
    const { calls } = await ledger.listToolCalls({ runId: session });
    expect(calls.map(({ state }) => state)).toEqual(moment.state === undefined ? [] : [moment.state]);
  });
});

describe('a hook that is stopped while it waits', () => {
  it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)('blocks the tool after %s', async (signal) => {
    const session = `stopped by ${signal}`;
    const waits: Moment = { name: '', isReached: (_method, url) => url.includes('waitMs'), state: undefined };
    const url = await between(waits, () => process.kill(innerOf(hook.child), signal));
    const hook = startHook(url, configurations[0]?.input(session, 'make') ?? {});
    expect(await hook.end).toEqual({ code: 2, out: expect.stringContaining('"permissionDecision":"deny"') });
  });
});
