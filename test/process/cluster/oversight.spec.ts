import { expect, test } from '@jest/globals';
import type { OversightReport, ToolCallView } from '@countersign/contracts';
import { cleanUpAfterEach } from '../harness/cleanup.js';
import type { HttpAnswer } from '../harness/http.js';
import type { Server } from '../harness/server.js';
import { eventually } from '../harness/wait.js';
import { freePort } from '../../ports.js';
import { openPair, startRole } from './roles.js';

cleanUpAfterEach();

const approvers = ['ann', 'me'] as const;
const expiring = 6;
const decided = 30;

async function askAbout({ http }: Server, toolCallIds: readonly string[], expiresInMs: number) {
  const call = { toolName: 'delete_file', arguments: { path: '/tmp/a' }, needsApproval: true, expiresInMs };
  const body = { runId: 'run-1', calls: toolCallIds.map((toolCallId) => ({ ...call, toolCallId })) };
  const asked = await http.send({ method: 'POST', path: '/v1/tool-calls', token: 'agent-token', body });
  expect(asked.status).toBe(201);
  return (asked.body as { calls: ToolCallView[] }).calls.map(({ approval }) => approval?.approvalId ?? '');
}

function answer({ http }: Server, who: string, approvalId: string, type: string): Promise<HttpAnswer> {
  const path = `/v1/approvals/${approvalId}/responses`;
  return http.send({ method: 'POST', path, token: `${who}-token`, body: { decision: { type } } });
}

async function reportOf({ http }: Server): Promise<OversightReport> {
  const report = await http.send({ method: 'GET', path: '/v1/oversight', token: 'ann-token' });
  expect(report.status).toBe(200);
  return report.body as OversightReport;
}

const ids = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, n) => `${prefix}-${String(n)}`);

test('the oversight report of each gateway counts each decision and each expiry once', async () => {
  const { a, b, env } = await openPair();
  // Deadlines need no broker; both projectors fire each of them.
  const brokers = { COUNTERSIGN_KAFKA_BROKERS: `127.0.0.1:${String(await freePort())}` };
  await Promise.all(['projector', 'projector'].map((role) => startRole(role, { ...env, ...brokers })));

  const short = await askAbout(a, ids('short', expiring), 200);
  const long = await askAbout(b, ids('long', decided), 600_000);
  // Two people answer each one at the same moment, on different gateways: one of them is first.
  const statuses = await Promise.all(
    long.map(async (approvalId, n) => {
      const type = n % 3 === 0 ? 'deny' : 'approve';
      const pair = await Promise.all([answer(a, 'ann', approvalId, type), answer(b, 'me', approvalId, type)]);
      return pair.map(({ status }) => status).sort();
    }),
  );
  expect(statuses).toEqual(long.map(() => [200, 409]));

  const report = await eventually('every expiry', async () => {
    const found = await reportOf(a);
    return found.total.expiries === short.length ? found : undefined;
  });
  expect(report).toMatchObject({
    ...{ complete: true, scope: 'tenant' },
    total: { decisions: decided, denials: decided / 3, approvals: (2 * decided) / 3, expiries: expiring },
  });
  const byPeople = report.rows.filter(({ key }) => key !== null);
  expect(byPeople.every(({ key }) => approvers.some((who) => who === key))).toBe(true);
  expect(byPeople.reduce((sum, { decisions }) => sum + decisions, 0)).toBe(decided);
  expect(report.rows.find(({ key }) => key === null)).toMatchObject({
    requests: expiring + decided,
    expiries: expiring,
  });
  const { rows, total } = await reportOf(b);
  expect({ rows, total }).toEqual({ rows: report.rows, total: report.total });
});
