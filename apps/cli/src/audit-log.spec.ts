import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { createCliRun } from './testing/cli-run.js';
import type { CliRun } from './testing/cli-run.js';
import { approvalOf, callOf } from './testing/fixtures.js';
import { knownToken, startContractServer } from './testing/contract-server.js';
import type { ContractServer } from './testing/contract-server.js';

let server: ContractServer;
let run: CliRun;
beforeEach(async () => {
  server = await startContractServer();
  run = createCliRun({ COUNTERSIGN_URL: server.url, COUNTERSIGN_TOKEN: knownToken });
});
afterEach(() => server.close());

const event = {
  ...{ eventId: 'e-1', position: 7, revision: 2, type: 'ResponseWithdrawn', tenant: 'acme', runId: 'run-1' },
  ...{ recordedAt: '2026-11-02T00:00:00.000Z', callId: 'tc_1', toolCallId: 'c', toolName: '=pay', agentId: 'bot' },
  actor: { kind: 'person', id: 'alice', onBehalfOf: null },
  data: { withdrawnBy: 'alice' },
};

it('asks with the filters, and writes a table in which no text is a formula', async () => {
  const asked: string[] = [];
  server.intercept = ({ path }) => {
    asked.push(path);
    return { status: 200, body: event };
  };
  const { code, out } = await run(
    'audit',
    'log',
    '--actor',
    'alice',
    '--since',
    '2026-11-01',
    '--newest',
    '--format',
    'csv',
  );
  expect(code).toBe(0);
  expect(asked).toEqual(['/v1/audit/events?actor=alice&since=2026-11-01T00%3A00%3A00.000Z&order=desc&limit=1000']);
  expect(out).toMatch(/^position,recordedAt,code,type,/);
  expect(out).toContain(",alice,,'=pay,bot,");
});

it('writes the stored form after the changes of the log key, which a verifier with an older key needs', async () => {
  const change = { index: 4, entry: '{}', body: null, proof: 'c2sp.org/tlog-proof@v1' };
  const stored = { eventId: 'e-1', stream: 's', revision: 0, type: 'T', recordedAt: 'x', metadata: {}, data: {} };
  let status = 200;
  server.intercept = ({ path }) =>
    path === '/v1/log/key-changes' ? { status, body: change } : { status: 200, body: stored };
  const { code, out } = await run('audit', 'log', '--values', 'stored');
  expect([code, out]).toEqual([0, `${JSON.stringify(change)}\n${JSON.stringify(stored)}\n`]);
  status = 404;
  expect((await run('audit', 'log', '--values', 'stored')).out).toBe(`${JSON.stringify(stored)}\n`);
  expect(await run('audit', 'log', '--values', 'stored', '--format', 'csv')).toMatchObject({ code: 2 });
});

it('prints the state as JSON', async () => {
  const state = { asOf: 'x', position: 1, policy: null, calls: [], grants: [], rights: [], complete: true };
  server.intercept = () => ({ status: 200, body: state });
  const { out } = await run('audit', 'state', '--as-of', '2026-11-01', '--json');
  expect(JSON.parse(out)).toEqual(state);
});

it('prints the stops in force, and the groups and delegates of the policy', async () => {
  const scope = { tenant: null, agentId: 'bot-*', toolName: null };
  const stop = { stopId: 'stop_1', scope, reason: 'it pays twice', declaredBy: 'kim', declaredAt: 'then' };
  const delegates = [{ to: 'carol', from: 'monday', until: 'friday' }];
  const people = [{ principal: 'bob', groups: ['ops', 'security'], delegates }];
  const state = { asOf: 'x', position: 1, policy: null, calls: [], grants: [], rights: [], complete: true };
  server.intercept = () => ({ status: 200, body: { ...state, stops: [stop], people } });
  const { out } = await run('audit', 'state');
  const line = out.replaceAll(/\s+/g, ' ');
  expect(line).toContain('stops: 1 stop_1 every tenant, agents bot-*, every tool by kim at then: it pays twice');
  expect(line).toContain('people of the policy: 1 bob ops, security; carol answers for them until friday');
});

it('shows a call as it was at a moment, by the id of its approval too, and says that it was not recorded yet', async () => {
  const asked: string[] = [];
  const answer = { callId: 'tc_a', events: [event], toolCall: callOf(approvalOf({ callId: 'tc_a' })) };
  server.intercept = ({ path }) => {
    asked.push(path);
    return { status: 200, body: asked.length < 3 ? answer : { ...answer, events: [], toolCall: null } };
  };
  const shown = await run('show', 'apr_a_1', '--as-of', '2026-11-01');
  expect(shown.out).toContain('As of 2026-11-01T00:00:00.000Z:');
  expect(shown.out).toContain('alice withdrew the response');
  expect((await run('audit', 'show', 'tc_a', '--as-of', '2026-11-01', '--values', 'clear')).code).toBe(0);
  const early = await run('audit', 'show', 'tc_a', '--as-of', '2026-10-01');
  expect(early).toMatchObject({ code: 6, out: '' });
  expect(asked).toEqual([
    '/v1/audit/tool-calls/tc_a/events?asOf=2026-11-01T00%3A00%3A00.000Z',
    '/v1/audit/tool-calls/tc_a/events?asOf=2026-11-01T00%3A00%3A00.000Z&values=clear',
    '/v1/audit/tool-calls/tc_a/events?asOf=2026-10-01T00%3A00%3A00.000Z',
  ]);
});

it('prints what is sound of a damaged log, names what is missing, and ends with 1', async () => {
  const headers = { 'countersign-log': 'damaged', 'countersign-log-missing': '8,9' };
  server.intercept = () => ({ status: 200, body: event, headers });
  const { code, out, err } = await run('audit', 'log', '--format', 'csv');
  expect(code).toBe(1);
  expect(out).toContain(",alice,,'=pay,bot,");
  expect(err).toMatch(/The log is damaged\.[^]*: 8, 9\.[^]*countersign audit salvage/);
});

it('shows a text with line ends of other programs', async () => {
  const reason = 'one\u2028two\u2029three';
  server.intercept = () => ({ status: 200, body: { ...event, data: { ...event.data, reason } } });
  const { code, out } = await run('audit', 'log', '--format', 'csv');
  expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining(reason) as unknown });
});
