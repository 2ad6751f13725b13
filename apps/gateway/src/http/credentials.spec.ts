import { hash } from 'node:crypto';
import type { EventView } from '@countersign/contracts';
import { createSessions } from '../inbox/sessions.js';
import { createSessionStore } from '../sqlite/session-store.js';
import { createApi } from '../testing/api.js';
import { openStream } from '../testing/event-stream.js';
import { openWorld } from '../testing/world.js';

const sessionStore = createSessionStore(':memory:');
const world = await openWorld({
  change: (ports) => ({ ...ports, sessions: createSessions({ ...ports, store: sessionStore }) }),
});
const api = createApi(world);
afterAll(async () => {
  await world.close();
  sessionStore.close();
});

const idOf = (token: string) => `token:${hash('sha256', token, 'hex').slice(0, 16)}`;
const approve = { decision: { type: 'approve' } };
const audited = async (callId: string): Promise<readonly EventView[]> => {
  const path = `/v1/audit/tool-calls/${callId}/events`;
  return (await api.send<{ events: readonly EventView[] }>('GET', path, { as: 'auditor' })).body.events;
};
const dataOf = async (callId: string, type: string) =>
  (await audited(callId)).find((event) => event.type === type)?.data ?? {};

it('records the credential, the roles and the client of a response', async () => {
  const { callId, approvalId } = await api.pending();
  const path = `/v1/approvals/${approvalId}/responses`;
  const headers = { 'countersign-client': 'acme desk 2.1' };
  expect((await api.send('POST', path, { as: 'me', body: approve, headers })).status).toBe(200);
  const data = await dataOf(callId, 'ApprovalResponded');
  expect(data).toMatchObject({
    ...{ credential: idOf('me-token'), roles: ['admin', 'approver', 'auditor'], client: 'acme desk 2.1', via: 'api' },
  });
  expect(data).not.toHaveProperty('session');
  expect(data).not.toHaveProperty('bulkId');
});

it('records the session of a response in the inbox by its hash', async () => {
  const { callId, approvalId } = await api.pending();
  const signIn = await fetch(`${world.url}/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'countersign-client': 'inbox' },
    body: JSON.stringify({ token: 'ann-token' }),
  });
  const cookie = (signIn.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
  const [, id = ''] = cookie.split('=');
  const headers = { cookie, 'countersign-client': 'inbox' };
  const path = `/v1/approvals/${approvalId}/responses`;
  expect((await api.send('POST', path, { as: null, body: approve, headers })).status).toBe(200);
  const session = `sha256:${hash('sha256', id, 'hex')}`;
  const proof = { credential: idOf('ann-token'), session, client: 'inbox', via: 'inbox' };
  expect(await dataOf(callId, 'ApprovalResponded')).toMatchObject(proof);
});

it('records the address of the connection where the operator wants it, whatever a header says', async () => {
  const recording = await openWorld({ change: (ports) => ({ ...ports, recordsAddresses: true }) });
  try {
    const there = createApi(recording);
    const { callId, approvalId } = await there.pending();
    const headers = { 'x-forwarded-for': '198.51.100.7', forwarded: 'for=198.51.100.7' };
    const path = `/v1/approvals/${approvalId}/responses`;
    expect((await there.send('POST', path, { as: 'me', body: approve, headers })).status).toBe(200);
    const { body } = await there.send<{ events: readonly EventView[] }>(
      'GET',
      `/v1/audit/tool-calls/${callId}/events`,
      { as: 'auditor' },
    );
    const address = expect.stringMatching(/^(::ffff:)?127\.0\.0\.1$|^::1$/) as unknown;
    expect(body.events.find(({ type }) => type === 'ApprovalResponded')?.data).toMatchObject({ address });
  } finally {
    await recording.close();
  }
  const { callId, approvalId } = await api.pending();
  await api.send('POST', `/v1/approvals/${approvalId}/responses`, { as: 'me', body: approve });
  expect(await dataOf(callId, 'ApprovalResponded')).not.toHaveProperty('address');
});

it('gives all responses of one click the same id', async () => {
  const asked = [await api.pending(), await api.pending()];
  const body = { ...approve, approvalIds: asked.map(({ approvalId }) => approvalId) };
  expect((await api.send('POST', '/v1/approvals/responses', { as: 'ann', body })).status).toBe(200);
  const [one, other] = await Promise.all(asked.map(({ callId }) => dataOf(callId, 'ApprovalResponded')));
  expect(one?.['bulkId']).toEqual(expect.any(String));
  expect(other?.['bulkId']).toBe(one?.['bulkId']);
  const { callId, approvalId } = await api.pending();
  const alone = { ...approve, approvalIds: [approvalId] };
  expect((await api.send('POST', '/v1/approvals/responses', { as: 'ann', body: alone })).status).toBe(200);
  expect(await dataOf(callId, 'ApprovalResponded')).not.toHaveProperty('bulkId');
});

it('records the credential of withdrawals, reveals, cancellations and grants', async () => {
  const { callId, approvalId } = await api.pending({ arguments: { path: '/x', password: 'hunter2' } });
  const send = async (method: string, path: string, as: string, body?: object) => {
    expect((await api.send(method, path, { as, ...(body && { body }) })).status).toBeLessThan(300);
  };
  await send('POST', `/v1/approvals/${approvalId}/reveal`, 'ann');
  await send('POST', `/v1/tool-calls/${callId}/cancel`, 'admin', { reason: 'not now' });
  expect(await dataOf(callId, 'ValuesRevealed')).toMatchObject({ credential: idOf('ann-token') });
  expect(await dataOf(callId, 'ToolCallCancelled')).toMatchObject({
    credential: idOf('admin-token'),
    roles: ['admin'],
  });
});

it('shows credentials to auditors and admins alone', async () => {
  const { callId, approvalId } = await api.pending();
  const path = `/v1/approvals/${approvalId}/responses`;
  expect((await api.send('POST', path, { as: 'ann', body: approve })).status).toBe(200);
  const seenBy = async (as: string) => {
    const stream = await openStream(`${world.url}/v1/events?callId=${callId}&types=ApprovalResponded`, as);
    const [message] = await stream.until(1);
    stream.close();
    return message?.data.data ?? {};
  };
  for (const as of ['auditor', 'admin']) expect(await seenBy(as)).toMatchObject({ credential: idOf('ann-token') });
  for (const as of ['agent', 'agent2', 'bob', 'worker']) {
    const data = await seenBy(as);
    expect(data).toMatchObject({ respondedBy: 'ann' });
    for (const member of ['credential', 'roles', 'client', 'session']) expect(data).not.toHaveProperty(member);
  }
});
