import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { createCliRun } from './testing/cli-run.js';
import type { CliRun } from './testing/cli-run.js';
import { knownToken, startContractServer } from './testing/contract-server.js';
import type { ContractServer } from './testing/contract-server.js';

let server: ContractServer;
let run: CliRun;
let folder: string;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-'));
  server = await startContractServer();
  run = createCliRun({ COUNTERSIGN_URL: server.url, COUNTERSIGN_TOKEN: knownToken });
});
afterEach(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

const responded = {
  ...{
    eventId: 'e-1',
    position: 7,
    stream: 's',
    revision: 2,
    type: 'ApprovalResponded',
    tenant: 'acme',
    runId: 'run-1',
  },
  ...{ recordedAt: '2026-11-02T00:00:00.000Z', callId: 'tc_1', toolCallId: 'c', toolName: 'pay', agentId: 'bot' },
  actor: { kind: 'person', id: 'alice', onBehalfOf: null },
  data: {
    decision: { type: 'approve' },
    resolution: 'approved',
    automatic: false,
    proposal: 1,
    shown: 'sha256:00',
    reason: '=1+1\u2028and more',
  },
};

/** The request, recorded before the period; and what comes after the answer, which its row must not know. */
const earlier = [
  { ...responded, eventId: 'e-0', position: 3, revision: 0, type: 'ToolCallRequested', data: { arguments: { a: 1 } } },
  { ...responded, eventId: 'e-2', position: 9, revision: 3, type: 'ToolCallRequested', data: { arguments: { a: 2 } } },
];

it('writes a page and a table for each list, of the period that was asked for', async () => {
  const asked: string[] = [];
  server.intercept = ({ path }) => {
    asked.push(path);
    if (path === '/v1/me') return { status: 200, body: { tenant: 'acme' } };
    if (path.startsWith('/v1/audit/events')) return { status: 200, body: responded };
    if (path === '/v1/audit/tool-calls/tc_1/events') return { status: 200, body: { toolCall: null, events: earlier } };
    return path === '/v1/log/checkpoint' ? { status: 200, body: 'origin\n1\nroot\n' } : undefined;
  };
  const out = join(folder, 'out');
  const done = await run('audit', 'report', '-o', out, '--since', '2026-11-01', '--json');
  expect(done).toMatchObject({ code: 0, err: '' });
  expect(JSON.parse(done.out)).toMatchObject({ tenant: 'acme', rows: { decisions: 1, fast: 0, changes: 0 } });
  expect(asked.filter((path) => path.startsWith('/v1/audit/events'))).toEqual([
    '/v1/audit/events?limit=10000&since=2026-11-01T00%3A00%3A00.000Z',
  ]);
  expect(readdirSync(out)).toEqual(expect.arrayContaining(['index.html', 'decisions.csv', 'fast.csv', 'changes.csv']));
  expect(readFileSync(join(out, 'decisions.csv'), 'utf8')).toMatch(
    /\r\n2026-11-02T00:00:00.000Z,ApprovalResponded,alice,.*,'=1\+1\u2028and more,/,
  );
  expect(readFileSync(join(out, 'decisions.csv'), 'utf8')).toContain(',"{""a"":1}",');
  expect(readFileSync(join(out, 'index.html'), 'utf8')).toContain('<a href="decisions.csv">');
  const again = await run('audit', 'report', '-o', out);
  expect(again).toMatchObject({ code: 2, err: expect.stringContaining('is not empty') as unknown });
});

it('says why a server refuses, and leaves no page behind', async () => {
  server.intercept = ({ path }) =>
    path === '/v1/me'
      ? { status: 200, body: { tenant: 'acme' } }
      : { status: 403, body: { code: 'forbidden', detail: 'no auditor' } };
  const out = join(folder, 'out');
  const { code, err } = await run('audit', 'report', '-o', out);
  expect(code).toBe(4);
  expect(err).toContain('no auditor');
  expect(readdirSync(out)).not.toContain('index.html');
});

it('writes no report of a damaged log', async () => {
  server.intercept = ({ path }) => {
    if (path === '/v1/me') return { status: 200, body: { tenant: 'acme' } };
    if (!path.startsWith('/v1/audit/events')) return undefined;
    return { status: 200, body: responded, headers: { 'countersign-log-missing': '8' } };
  };
  const out = join(folder, 'out');
  const { code, err } = await run('audit', 'report', '-o', out);
  expect(code).toBe(1);
  expect(err).toMatch(/The log is damaged\.[^]*: 8\./);
  expect(readdirSync(out)).not.toContain('index.html');
});
