import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@countersign/message-bus/testing';
import { createWorker } from '@countersign/worker-sdk';
import { kafka } from '@countersign/worker-sdk/kafka';
import { hasPython, installMsMax, installPython } from '../python-environment.ts';
import { startKafkaBroker } from '../kafka-broker/broker.ts';
import { openLedgerBehindKafka, type LedgerBehindKafka } from './worker-sdk/ledger-behind-kafka.ts';

const root = join(import.meta.dirname, '..', '..');
const guide = readFileSync(join(root, 'docs', 'kafka.md'), 'utf8');
const shell = [...guide.matchAll(/^```sh\n([^]*?)^```/gm)].map(([, code = '']) => code);
/** The very lines of the guide that contain a text. */
const linesWith = (text: string): string => shell.find((code) => code.includes(text)) ?? `the guide has no ${text}`;

const folder = mkdtempSync(join(tmpdir(), 'countersign-producers-'));
let python: string;
// Without Python or kcat the rest runs; in CI both must be there.
const hasKcat = process.env['CI'] !== undefined || spawnSync('kcat', ['-V']).error === undefined;

let brokers: readonly string[];
let ledger: LedgerBehindKafka;

beforeAll(async () => {
  ({ brokers } = await startKafkaBroker());
  ledger = await openLedgerBehindKafka(brokers, `producers-${randomUUID()}`, { keys: [keyOfTheGuide()] });
  if (hasPython) python = await installPython('examples', 'examples/kafka/requirements.txt');
}, installMsMax);
afterAll(async () => {
  await ledger.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Makes a key by the commands of the guide. */
function keyOfTheGuide() {
  const x = execFileSync('sh', ['-ec', linesWith('openssl genpkey')], { cwd: folder, encoding: 'utf8', stdio: 'pipe' });
  const entries = /^```json\n([^]*?)^```/m.exec(guide)?.[1] ?? '';
  const [entry] = JSON.parse(entries.replace('"…"', JSON.stringify(x.trim()))) as [never];
  return entry;
}

/** Runs the example; its last line, and how it ended. */
async function request(...args: readonly string[]): Promise<{ readonly code: number; readonly said: unknown }> {
  const example = join(root, 'examples', 'kafka', 'request.py');
  const all = [example, '--brokers', brokers.join(','), '--prefix', ledger.prefix, '--timeout', '60', ...args];
  const own = {
    COUNTERSIGN_URL: ledger.url,
    COUNTERSIGN_TOKEN: 'agent-token',
    PYTHONDONTWRITEBYTECODE: '1',
    COUNTERSIGN_RESOLVER_TOKEN: 'worker-token',
  };
  const ended = await promisify(execFile)(python, all, { env: { ...process.env, ...own } }).then(
    ({ stdout }) => ({ code: 0, stdout }),
    (error: unknown) => error as { readonly code: number; readonly stdout: string; readonly stderr: string },
  );
  if (ended.stdout === '') throw new Error(`the example said nothing: ${JSON.stringify(ended)}`);
  return { code: ended.code, said: JSON.parse(ended.stdout.trim().split('\n').at(-1) ?? '') };
}

const newRun = (): string => `run-${randomUUID()}`;
const requestsOf = (runId: string) => ledger.seen.filter(({ key }) => key === runId);

/** The tests that need a program; without it, one test that reports that. */
function describeWith(program: string, isThere: boolean, tests: () => void): void {
  if (isThere) describe(`with ${program}`, tests);
  else it(`is not tried with ${program}, which is not installed here`, () => undefined);
}

describeWith('Python', hasPython, () => {
  it('asks, and hears that a person agreed', async () => {
    const runId = newRun();
    const asked = request('--run', runId);
    await ledger.respondTo(runId, { decision: { type: 'approve' } });
    expect(await asked).toMatchObject({ code: 0, said: { outcome: 'approved' } });
  });

  it('claims what a person put in its place over HTTP, runs it once, and reports', async () => {
    const [runId, asked, edited] = [newRun(), join(folder, 'asked'), join(folder, 'edited')];
    for (const file of [asked, edited]) writeFileSync(file, '');
    const args = ['--run', runId, '--path', asked, '--execute'];
    const ended = request(...args);
    await ledger.respondTo(runId, { decision: { type: 'edit', arguments: { path: edited } } });
    const text = expect.stringContaining('An approver changed the arguments');
    expect(await ended).toMatchObject({ code: 0, said: { outcome: 'succeeded', text } });
    expect([existsSync(asked), existsSync(edited)]).toEqual([true, false]);
  });

  it('hears that a person did not', async () => {
    const runId = newRun();
    const asked = request('--run', runId);
    await ledger.respondTo(runId, { decision: { type: 'deny' }, reason: 'no' });
    expect(await asked).toMatchObject({ code: 1, said: { outcome: 'denied' } });
  });

  it('hears that other arguments under the same id are refused', async () => {
    const runId = newRun();
    expect(await request('--run', runId, '--timeout', '0')).toMatchObject({ said: { outcome: 'no answer yet' } });
    const { said } = await request('--run', runId, '--path', '/etc/passwd');
    expect(said).toMatchObject({ outcome: 'refused', code: 'tool-call-mismatch' });
  });

  it('believes no refusal that only the topic knows', async () => {
    const [runId, requestId] = [newRun(), randomUUID()];
    const asked = request('--run', runId, '--id', requestId);
    await eventually(() => expect(requestsOf(runId)).toHaveLength(1));
    const refusal = { requestId, code: 'forbidden', detail: 'forged', toolCallIds: [] };
    await ledger.publishForged('RequestRefused', refusal, runId);
    await ledger.respondTo(runId, { decision: { type: 'approve' } });
    expect(await asked).toMatchObject({ code: 0, said: { outcome: 'approved' } });
  });

  it('believes no end that only the topic knows, and is not stopped by an event without data', async () => {
    const runId = newRun();
    const asked = request('--run', runId);
    await eventually(() => expect(requestsOf(runId)).toHaveLength(1));
    for (const type of ['ToolCallAllowed', 'ApprovalResponded', 'RequestRefused']) {
      await ledger.publishForged(type, null, runId);
      await ledger.publishForged(type, { resolution: 'approved' }, runId);
    }
    await ledger.respondTo(runId, { decision: { type: 'deny' }, reason: 'no' });
    expect(await asked).toMatchObject({ code: 1, said: { outcome: 'denied' } });
  });

  it('signs with the key that the guide makes, and only with that', async () => {
    const signed = (kid: string, ...more: readonly string[]) => {
      const runId = newRun();
      const asked = request(
        '--run',
        runId,
        '--agent',
        'billing-py',
        '--kid',
        kid,
        '--key',
        join(folder, 'agent-2026.pem'),
        ...more,
      );
      return { runId, asked };
    };
    const good = signed('agent-2026');
    await ledger.respondTo(good.runId, { decision: { type: 'approve' } });
    expect(await good.asked).toMatchObject({ said: { outcome: 'approved' } });
    // No principal is proven, so the ledger tells auditors and admins alone.
    expect(await signed('agent-1999', '--timeout', '2').asked).toMatchObject({ said: { outcome: 'no answer yet' } });
  });

  it('puts a run where the SDK puts it, so that its messages keep their order', async () => {
    // Fixed names, which are known to be in different partitions.
    const runIds = ['place-1', 'place-2', 'place-3', 'place-4'];
    for (const runId of runIds) {
      await request('--run', runId, '--timeout', '0');
      const worker = createWorker({
        kafka: kafka({ brokers, topicPrefix: ledger.prefix }),
        url: ledger.url,
        token: 'agent-token',
        agentId: 'agent',
        tools: [],
      });
      try {
        await worker.cancelRun(runId, 'seen enough');
      } finally {
        await worker.close();
      }
    }
    await eventually(() => {
      for (const runId of runIds) {
        const places = requestsOf(runId).map(({ partition }) => partition);
        expect(places).toHaveLength(2);
        expect(places[1]).toBe(places[0]);
      }
    });
    expect(new Set(runIds.map((runId) => requestsOf(runId)[0]?.partition)).size).toBeGreaterThan(1);
  });
});

describeWith('kcat', hasKcat, () => {
  const sh = (lines: string) =>
    execFileSync('sh', ['-ec', lines.replace(/^BROKERS=.*$/m, '')], {
      encoding: 'utf8',
      env: { ...process.env, BROKERS: brokers.join(','), PREFIX: ledger.prefix },
    });

  it('asks and listens by the lines of the guide', async () => {
    sh(linesWith('kcat -P'));
    await ledger.respondTo('run-42', { decision: { type: 'deny' }, reason: 'read it first' });
    await eventually(() => {
      const heard = sh(linesWith('kcat -C'));
      expect(heard).toMatch(/ce_type=ApprovalRequested[^]*ce_type=ApprovalResponded/);
      expect(heard).toContain('"reason":"read it first"');
    });
  });

  it.each(['gzip', 'snappy', 'lz4', 'zstd'])('asks by messages that are compressed (%s)', async (codec) => {
    const runId = `run-${codec}`;
    sh(linesWith('kcat -P').replaceAll('run-42', runId).replace('kcat -P', `kcat -P -z ${codec}`));
    await ledger.respondTo(runId, { decision: { type: 'approve' } });
  });
});
