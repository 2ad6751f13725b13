import type { ApprovalView, PasskeyOptions } from '@countersign/contracts';
import { createAuthenticator } from '@countersign/passkeys/testing';
import type { Authenticator } from '@countersign/passkeys/testing';
import { createPolicies, loadPolicy } from '@countersign/policy';
import { createSessions } from '../inbox/sessions.js';
import { createSessionStore } from '../sqlite/session-store.js';
import { createApi } from '../testing/api.js';
import type { Sent } from '../testing/api.js';
import { signedApproval } from '../testing/signing.js';
import { openWorld } from '../testing/world.js';

const sessionStore = createSessionStore(':memory:');
const yaml = `
version: 1
rules:
  - { id: pay, match: { tools: [pay] }, then: { require: { requireSignature: true, requireReason: [deny] } } }
`;
const publicUrl = new URL('http://localhost:7400');
const world = await openWorld({
  policies: createPolicies([loadPolicy('p.yaml', yaml)]),
  change: (ports) => ({ ...ports, sessions: createSessions({ ...ports, store: sessionStore }) }),
  inbox: { publicUrl },
});
const api = createApi(world);
afterAll(async () => {
  await world.close();
  sessionStore.close();
});

const site = { rpId: 'localhost', origin: 'http://localhost:7400' };
const approve = { decision: { type: 'approve' } } as const;

async function signIn(name: string): Promise<Pick<Sent, 'as' | 'headers'>> {
  const answer = await fetch(`${world.url}/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'countersign-client': 'inbox' },
    body: JSON.stringify({ token: `${name}-token` }),
  });
  const cookie = (answer.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
  return { as: null, headers: { cookie, 'countersign-client': 'inbox' } };
}

const [ann, bob] = [await signIn('ann'), await signIn('bob')];

async function register(who: Pick<Sent, 'as' | 'headers'>, key: Authenticator = createAuthenticator()) {
  const { body: options } = await api.send<PasskeyOptions>('POST', '/v1/me/passkeys/options', who);
  const made = { ...key.register(options.publicKey.challenge, site), nonce: options.nonce };
  const registration = { ...made, transports: ['internal'] };
  return api.send('POST', '/v1/me/passkeys', { ...who, body: { name: 'laptop', registration } });
}

async function signed(approvalId: string, key: Authenticator, who = ann) {
  const { body: view } = await api.send<ApprovalView>('GET', `/v1/approvals/${approvalId}`, who);
  return signedApproval(view, key, site);
}

const key = createAuthenticator();
beforeAll(async () => {
  expect((await register(ann, key)).status).toBe(201);
});

describe('a passkey over HTTP', () => {
  it('is registered with the options that the server gave, and listed', async () => {
    const { body } = await api.send('GET', '/v1/me/passkeys', ann);
    expect(body).toMatchObject({ passkeys: [{ name: 'laptop', principal: 'ann', status: 'active', ...site }] });
    const own = `/v1/me/passkeys/${key.credentialId}`;
    expect((await api.send('GET', own, ann)).body).toMatchObject({ name: 'laptop', publicKey: key.publicKey });
    expect((await api.send('GET', own, bob)).status).toBe(404);
    expect((await api.send('GET', '/v1/me/passkeys', bob)).body).toEqual({ passkeys: [] });
    expect((await api.send('GET', '/v1/passkeys', { as: 'auditor' })).body).toEqual(body);
    expect((await api.send('GET', '/v1/passkeys', { as: 'other' })).body).toEqual({ passkeys: [] });
    expect((await api.send('GET', '/v1/passkeys', { as: 'agent' })).status).toBe(403);
  });

  it('is refused without a session, with options of another person, and a second time', async () => {
    expect((await register({ as: 'bob' })).body).toMatchObject({ status: 403 });
    const { body: options } = await api.send<PasskeyOptions>('POST', '/v1/me/passkeys/options', ann);
    const registration = { ...createAuthenticator().register(options.publicKey.challenge, site), nonce: options.nonce };
    expect((await api.send('POST', '/v1/me/passkeys', { ...bob, body: { registration } })).status).toBe(403);
    expect((await register(bob, key)).status).toBe(403);
  });

  it('waits for a confirmation, and is removed by its owner', async () => {
    const second = createAuthenticator();
    expect((await register(ann, second)).body).toMatchObject({ status: 'waiting', waitsFor: 'any-passkey' });
    const path = `/v1/passkeys/${second.credentialId}/confirm`;
    expect((await api.send('POST', path, { ...bob, body: {} })).body).toMatchObject({ code: 'signature-required' });
    expect((await api.send('POST', '/v1/passkeys/AAAA/confirm', { ...bob, body: {} })).status).toBe(404);
    const own = `/v1/me/passkeys/${second.credentialId}`;
    expect((await api.send('DELETE', own, bob)).status).toBe(404);
    expect((await api.send('DELETE', own, ann)).body).toMatchObject({ status: 'removed' });
  });

  it.each([null, '{}', '{"registration":null}'])('gets its options without a registration, too: %s', async (body) => {
    const headers = { ...ann.headers, ...(body !== null && { 'content-type': 'application/json' }) };
    const answer = await fetch(`${world.url}/v1/me/passkeys`, { method: 'POST', headers, body });
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({ publicKey: { rp: { id: 'localhost' }, user: { name: 'ann' } } });
  });

  it.each(['/v1/me/passkeys', '/v1/me/passkeys/options'])('needs a public address with a name: %s', async (path) => {
    const bare = await openWorld({});
    const answer = await createApi(bare).send('POST', path, { as: 'ann', body: {} });
    await bare.close();
    expect(answer.body['code']).toBe('not-supported');
    expect(answer.body['detail']).toContain('COUNTERSIGN_PUBLIC_URL');
  });
});

describe('a signed answer over HTTP', () => {
  const call = {
    toolName: 'pay',
    arguments: { amount: 5, password: 'x' },
    description: 'Pay',
    reason: 'due',
    title: 'Pay',
  };

  it('is signed over the card that a client renders from the approval', async () => {
    const { approvalId, callId } = await api.pending({
      ...call,
      metadata: { order: 7, token: 'secret' },
      labels: { a: 'b' },
    });
    const path = `/v1/approvals/${approvalId}/responses`;
    expect((await api.send('POST', path, { ...ann, body: approve })).body).toMatchObject({
      code: 'signature-required',
    });
    const body = await signed(approvalId, key);
    expect((await api.send('POST', path, { ...bob, body })).body).toMatchObject({ code: 'signature-required' });
    const { body: approval, status } = await api.send<ApprovalView>('POST', path, { ...ann, body });
    expect(status).toBe(200);
    expect(approval).toMatchObject({ state: 'approved', responses: [{ respondedBy: 'ann', signed: true }] });
    expect(
      (await api.send('POST', `/v1/tool-calls/${callId}/claim`, { as: 'worker', body: { resolverId: 'w' } })).status,
    ).toBe(200);
  });

  it('says before that the person may decide, and needs the current card', async () => {
    const { approvalId, callId } = await api.pending(call);
    expect((await api.send('GET', `/v1/approvals/${approvalId}`, ann)).body).toMatchObject({
      mayDecide: { now: true },
    });
    const other = await api.pending({ ...call, toolCallId: 'x' });
    const path = `/v1/approvals/${approvalId}/responses`;
    const body = await signed(other.approvalId, key);
    expect((await api.send('POST', path, { ...ann, body })).body).toMatchObject({ code: 'digest-mismatch' });
    expect((await api.send('GET', `/v1/tool-calls/${callId}`, ann)).body).toMatchObject({ state: 'awaiting_approval' });
  });

  it('shows the signature to auditors alone', async () => {
    const { approvalId, callId } = await api.pending(call);
    await api.send('POST', `/v1/approvals/${approvalId}/responses`, { ...ann, body: await signed(approvalId, key) });
    const path = `/v1/audit/tool-calls/${callId}/events`;
    const { body } = await api.send<{ events: readonly { type: string; data: object }[] }>('GET', path, {
      as: 'auditor',
    });
    const voted = body.events.find(({ type }) => type === 'ApprovalResponded');
    expect(voted?.data).toMatchObject({ signature: { credentialId: key.credentialId }, assurance: 'high' });
    const stream = await fetch(`${world.url}/v1/events?after=0&types=ApprovalResponded`, {
      headers: { authorization: 'Bearer agent-token' },
      signal: AbortSignal.timeout(20_000),
    });
    const reader = stream.body?.getReader();
    let text = '';
    while (!text.includes('ApprovalResponded')) text += Buffer.from((await reader?.read())?.value ?? []).toString();
    await reader?.cancel();
    expect(text).not.toContain('clientDataJSON');
  });

  it('with members that are none is an invalid request', async () => {
    const { approvalId } = await api.pending(call);
    const { signature } = await signed(approvalId, key);
    const send = (altered: object) =>
      api.send('POST', `/v1/approvals/${approvalId}/responses`, { ...ann, body: { ...approve, signature: altered } });
    for (const altered of [
      { ...signature, more: 1 },
      { ...signature, signature: 'a+b' },
      { ...signature, nonce: 'short' },
    ])
      expect((await send(altered)).status).toBe(400);
  });
});
