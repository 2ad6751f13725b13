import { describe, expect, test } from '@jest/globals';
import type { GrantView, ToolCallView } from '@countersign/contracts';
import { readAuditLines } from '../audit/log.js';
import { cleanUpAfterEach } from '../harness/cleanup.js';
import type { HttpAnswer } from '../harness/http.js';
import type { Server } from '../harness/server.js';
import { openPair, readAfter } from './roles.js';

cleanUpAfterEach();

const toolName = 'delete_file';

/** A grant that both gateways know. */
async function grantOn(a: Server, b: Server, more: object = {}): Promise<string> {
  const body = { toolName, match: { any: true }, expiresInMs: 600_000, reason: 'maintenance', ...more };
  const created = await a.http.send({ method: 'POST', path: '/v1/grants', token: 'ann-token', body });
  expect(created.status).toBe(201);
  const { grantId } = created.body as GrantView;
  expect((await readAfter(b, `/v1/grants/${grantId}`, created)).status).toBe(200);
  return grantId;
}

/** Requests calls in parallel, by turns on the two gateways. */
async function requestOn(gateways: readonly Server[], count: number): Promise<readonly ToolCallView[]> {
  const answers = await Promise.all(
    Array.from({ length: count }, (_, n) => request(gateways[n % gateways.length], `call-${String(n)}`)),
  );
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201));
  return answers.flatMap(({ body }) => (body as { calls: ToolCallView[] }).calls);
}

async function request(gateway: Server | undefined, toolCallId: string): Promise<HttpAnswer> {
  if (gateway === undefined) throw new Error('there is no gateway');
  const call = { toolCallId, toolName, arguments: { path: '/tmp/a' }, needsApproval: true };
  const body = { runId: 'run-1', calls: [call] };
  return gateway.http.send({ method: 'POST', path: '/v1/tool-calls', token: 'agent-token', body, timeoutMs: 30_000 });
}

/** The calls that hold a use of a grant, by the log. */
async function usesOf({ http }: Server, grantId: string): Promise<readonly string[]> {
  const log = await http.send({ method: 'GET', path: '/v1/audit/events', token: 'ann-token', timeoutMs: 30_000 });
  return readAuditLines(log.text)
    .filter(({ type }) => type === 'GrantUsed')
    .map(({ data }) => data as { readonly grantId: string; readonly callId: string })
    .flatMap((used) => (used.grantId === grantId ? [used.callId] : []));
}

describe('a standing grant that two gateways know', () => {
  test('covers exactly as many of a hundred calls at once as it has uses', async () => {
    const { a, b } = await openPair();
    const grantId = await grantOn(a, b, { maxUses: 3 });
    const calls = await requestOn([a, b], 100);
    const covered = calls.filter(({ state }) => state === 'allowed');
    expect(calls.filter(({ state }) => state === 'awaiting_approval')).toHaveLength(97);
    expect(covered.map(({ verdict }) => verdict.grantId)).toEqual([grantId, grantId, grantId]);
    expect([...(await usesOf(a, grantId))].sort()).toEqual(covered.map(({ callId }) => callId).sort());
  });

  test('covers no call on one of them that is requested after the other one has revoked it', async () => {
    const { a, b } = await openPair();
    const grantId = await grantOn(a, b);
    const revoked = await a.http.send({ method: 'DELETE', path: `/v1/grants/${grantId}`, token: 'ann-token' });
    expect(revoked).toMatchObject({ status: 200, body: { state: 'revoked' } });
    const calls = await requestOn([b], 20);
    expect(calls.map(({ state }) => state)).toEqual(calls.map(() => 'awaiting_approval'));
    expect(await usesOf(b, grantId)).toEqual([]);
  });
});
