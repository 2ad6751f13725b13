// A thread in a SQLite file and a real Countersign. Each step of the agent is a process of its own. `better-sqlite3` is `libsql` here (see
// the overrides of integrations/adapters/package.json): it has the same interface, and its binaries come through npm.
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startKitServer, type KitServer } from '@countersign/conformance';
import { createClient, type Client } from '@countersign/worker-sdk';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { hitlResponses, type CountersignInterrupt, type HitlDecision } from './review.js';

const program = join(import.meta.dirname, '..', 'conformance', 'sqlite-agent.ts');
const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'countersign-langchain-sqlite-'));

interface Thread {
  readonly interrupts: readonly CountersignInterrupt[];
  readonly results: readonly string[];
  readonly last: string;
}

let server: KitServer;
let approver: Client;

beforeAll(async () => {
  const root = join(import.meta.dirname, '..', '..', '..', '..');
  server = await startKitServer(join(root, 'apps', 'cli', 'bin', 'countersign.js'));
  approver = createClient({ url: server.url, token: server.approverToken });
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** A thread that waits for a decision about `refund` of 50. */
async function pausedThread() {
  const thread = randomUUID();
  const runs = join(folder, `${thread}.log`);
  const inProcess = async (step: 'begin' | 'resume' | 'continue', more: Record<string, string> = {}) => {
    const env = {
      ...more,
      PATH: process.env['PATH'],
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      COUNTERSIGN_URL: server.url,
      COUNTERSIGN_TOKEN: server.agentToken,
      COUNTERSIGN_RESOLVER_TOKEN: server.workerToken,
      DATABASE: join(folder, `${thread}.db`),
      RUNS: runs,
      THREAD: thread,
    };
    const { stdout } = await run(process.execPath, [program, step], { env, timeout: 30_000 });
    return JSON.parse(stdout) as Thread;
  };
  const { interrupts } = await inProcess('begin');
  const decide = async (decision: HitlDecision): Promise<void> => {
    for (const { approvalId, body } of hitlResponses(interrupts, [decision])) await approver.respond(approvalId, body);
  };
  const ran = () => (existsSync(runs) ? readFileSync(runs, 'utf8').trim().split('\n') : []);
  return { inProcess, decide, ran };
}

const edit: HitlDecision = { type: 'edit', editedAction: { name: 'refund', args: { amount: 7 } } };

describe('a thread in a file', () => {
  it('waits in one process, and runs once in another with the arguments that a person edited', async () => {
    const { inProcess, decide, ran } = await pausedThread();
    expect((await inProcess('resume')).interrupts).toHaveLength(1);
    expect(ran()).toEqual([]);
    await decide(edit);
    const { interrupts, results, last } = await inProcess('resume');
    expect({ interrupts, results, last }).toEqual({
      interrupts: [],
      results: [expect.stringMatching(/^\{"refunded":7\}\n.*"amount":7/s)],
      last: 'done',
    });
    expect((await inProcess('continue')).results).toEqual(results);
    expect(ran()).toEqual(['7']);
  });

  it('has the recorded result after `invoke(null)` when the process was killed before the checkpoint', async () => {
    const { inProcess, decide, ran } = await pausedThread();
    await decide({ type: 'approve' });
    await expect(inProcess('resume', { DIES_AFTER_OUTCOME: '1' })).rejects.toMatchObject({ signal: 'SIGKILL' });
    expect(await inProcess('continue')).toEqual({ interrupts: [], results: ['{"refunded":50}'], last: 'done' });
    expect(ran()).toEqual(['50']);
  });

  it('runs once when one process resumes it while another one calls `invoke(null)`', async () => {
    const { inProcess, decide, ran } = await pausedThread();
    await decide(edit);
    const both = await Promise.all([inProcess('resume'), inProcess('continue')]);
    for (const { results, last } of both) {
      expect(results).toEqual([expect.stringMatching(/^\{"refunded":7\}/)]);
      expect(last).toBe('done');
    }
    expect(ran()).toEqual(['7']);
  });
});
