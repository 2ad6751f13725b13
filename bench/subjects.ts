import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openConnection } from './http-client.ts';
import type { Connection } from './http-client.ts';
import { stepNames } from './floor.ts';

/** One thing under test: a server process, and a full cycle against it. */
export interface Subject {
  readonly name: 'product' | 'floor';
  readonly pid: number;
  readonly port: number;
  readonly folder: string;
  readonly connect: () => Promise<Connection>;
  readonly cycle: (connection: Connection, id: string) => Promise<void>;
  readonly flushes: () => Promise<number>;
  readonly stop: () => Promise<void>;
}

const requestedBody = (id: string, runId: string): string =>
  JSON.stringify({
    runId,
    calls: [
      {
        toolCallId: id,
        toolName: 'delete_file',
        arguments: { path: `/srv/data/${id}.txt`, recursive: false, note: 'left over from the import of last week' },
        needsApproval: true,
        reason: 'outside the workspace',
      },
    ],
  });
const answeredBody = JSON.stringify({ decision: { type: 'approve' }, reason: 'seen with ops' });
const claimedBody = JSON.stringify({ resolverId: 'bench' });
const outcomeBody = JSON.stringify({ attempt: 1, status: 'succeeded', output: { deleted: true } });

function bearer(token: string): string {
  return `authorization: Bearer ${token}\r\n`;
}

async function expect(status: number, connection: Connection, path: string, headers: string, body: string) {
  const answer = await connection.send('POST', path, headers, body);
  if (answer.status !== status) throw new Error(`POST ${path} answered ${String(answer.status)}: ${answer.body}`);
  return answer.body;
}

/** Starts the baseline in a separate process. */
export async function startFloor(): Promise<Subject> {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-floor-'));
  const child = spawn(process.execPath, [join(import.meta.dirname, 'floor-server.ts'), folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const port = Number(await firstLine(child, /^(\d+)$/m));
  const bodies = { answered: answeredBody, claimed: claimedBody, outcome: outcomeBody };
  return {
    ...subjectOf(child, port, folder),
    name: 'floor',
    cycle: async (connection, id) => {
      for (const step of stepNames) {
        const body = step === 'requested' ? requestedBody(id, 'run-1') : bodies[step];
        await expect(200, connection, `/${step}`, '', body);
      }
    },
    flushes: async () => {
      const answer = await get(port, '/stats', '');
      return (JSON.parse(answer) as { flushes: number }).flushes;
    },
  };
}

/** Like `start` in package.json. */
const memoryLimits = ['--max-old-space-size=768', '--max-semi-space-size=16'];

/** Starts the built standalone in a separate process on an empty folder. */
export async function startProduct(
  folder = mkdtempSync(join(tmpdir(), 'countersign-bench-')),
  more: Readonly<Record<string, string>> = {},
): Promise<Subject & { readonly tokens: Readonly<Record<string, string>> }> {
  const bin = join(import.meta.dirname, '..', 'apps', 'cli', 'bin', 'countersign.js');
  const child = spawn(process.execPath, [...memoryLimits, bin, 'start', 'standalone'], {
    env: {
      ...process.env,
      COUNTERSIGN_DATA: folder,
      COUNTERSIGN_PORT: '0',
      COUNTERSIGN_LOG_LEVEL: 'warn',
      // The whole load comes from three principals.
      COUNTERSIGN_REQUESTS_PER_SECOND: '1000000',
      ...more,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const port = Number(await firstLine(child, /http:\/\/127\.0\.0\.1:(\d+)/));
  const entries = JSON.parse(readFileSync(join(folder, 'tokens.json'), 'utf8')) as {
    principal: string;
    token: string;
  }[];
  const tokens = Object.fromEntries(entries.map((entry) => [entry.principal, entry.token]));
  const agent = bearer(tokens['agent'] ?? '');
  const me = bearer(tokens['me'] ?? '');
  const worker = bearer(tokens['worker'] ?? '');
  return {
    ...subjectOf(child, port, folder),
    name: 'product',
    tokens,
    cycle: async (connection, id) => {
      const runId = `run-${id}`;
      const body = await expect(201, connection, '/v1/tool-calls', agent, requestedBody(id, runId));
      const callId = /"callId":"(tc_[a-z2-7]+)"/.exec(body)?.[1] ?? '';
      const approvalId = `apr_${callId.slice(3)}_1`;
      await expect(200, connection, `/v1/approvals/${approvalId}/responses`, me, answeredBody);
      await expect(200, connection, `/v1/tool-calls/${callId}/claim`, worker, claimedBody);
      await expect(200, connection, `/v1/tool-calls/${callId}/outcome`, worker, outcomeBody);
    },
    flushes: async () => {
      const metrics = await get(port, '/metrics', me);
      return Number(/^countersign_store_commits_total(?:\{[^}]*\})? (\d+)/m.exec(metrics)?.[1]);
    },
  };
}

function subjectOf(child: ChildProcess, port: number, folder: string) {
  return {
    pid: child.pid ?? 0,
    port,
    folder,
    connect: () => openConnection(port),
    stop: () =>
      new Promise<void>((resolve) => {
        child.once('exit', () => {
          resolve();
        });
        child.kill('SIGTERM');
      }),
  };
}

async function get(port: number, path: string, headers: string): Promise<string> {
  const connection = await openConnection(port);
  const answer = await connection.send('GET', path, headers, '');
  connection.close();
  return answer.body;
}

function firstLine(child: ChildProcess, pattern: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      const found = pattern.exec(output)?.[1];
      if (found !== undefined) resolve(found);
    });
    child.once('exit', (code) => {
      reject(new Error(`the server ended with ${String(code)}: ${output}`));
    });
  });
}
