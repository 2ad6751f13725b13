import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { confirmationChallenge } from '@countersign/passkeys';
import { createAuthenticator } from '@countersign/passkeys/testing';
import { freePort } from '../ports.ts';
import { temporaryFolder } from '../process/harness/cleanup.js';
import { install, type Installation } from '../process/harness/standalone.js';

/** The parts of a request that its operation must have to succeed, by the names of schemathesis. */
interface Example {
  readonly path_parameters?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** What a server has recorded, for those that try all of its operations. */
export interface Recorded {
  /** Ids by the name of the parameter. */
  readonly ids: Readonly<Record<string, readonly string[]>>;
  /** A request that succeeds, by the id of its operation: of those that the example of the document is not enough for. */
  readonly examples: Readonly<Record<string, Example>>;
}

const policy = `
version: 1
rules:
  - { id: two, match: { tools: [two] }, then: { require: { quorum: { approve: 2 } } } }
  - { id: risky, match: { tools: [risky] }, then: { require: { risk: high } } }
`;

/** Starts a server on localhost with a policy, and with a second approver, `ann`, beside `me`. */
export async function startForOperations(): Promise<Installation & { readonly ann: string }> {
  const [folder, port, ann] = [temporaryFolder(), await freePort(), randomBytes(24).toString('hex')];
  const token = () => randomBytes(24).toString('hex');
  mkdirSync(join(folder, 'data'));
  const tokens = [
    { token: token(), principal: 'agent', roles: ['agent'], agentIds: ['*'] },
    { token: token(), principal: 'me', roles: ['approver', 'auditor', 'admin'] },
    { token: token(), principal: 'worker', roles: ['resolver'] },
    { token: ann, principal: 'ann', roles: ['approver'] },
  ];
  writeFileSync(join(folder, 'data', 'tokens.json'), JSON.stringify(tokens), { mode: 0o600 });
  writeFileSync(join(folder, 'policy.yaml'), policy);
  const env = { COUNTERSIGN_POLICY: 'policy.yaml', COUNTERSIGN_PUBLIC_URL: `http://localhost:${String(port)}` };
  return { ...(await install(env, folder, port)), ann };
}

interface Call {
  readonly callId: string;
  readonly approval: { readonly approvalId: string } | null;
}

interface Answer {
  readonly calls: readonly Call[];
  readonly grantId: string;
  readonly receipt: string;
  readonly nonce: string;
  readonly publicKey: { readonly challenge: string };
}

const inInbox = { 'countersign-client': 'inbox' };
const runs = ['run-1', 'run-2', 'run-3'];

/** Records calls, approvals, grants and passkeys for whom tries the operations. */
export async function recordCalls({
  port,
  tokens,
  ann,
}: Awaited<ReturnType<typeof startForOperations>>): Promise<Recorded> {
  const url = `http://localhost:${String(port)}`;
  const send = async (method: string, token: string, path: string, body: object = {}, more: object = {}) => {
    const bearer = token === '' ? {} : { authorization: `Bearer ${token}` };
    const headers = { 'content-type': 'application/json', ...bearer, ...more };
    const response = await fetch(`${url}${path}`, {
      method,
      headers,
      body: method === 'GET' ? null : JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`);
    return response;
  };
  const post = async (token: string, path: string, body?: object, more?: object): Promise<Answer> =>
    (await (await send('POST', token, path, body, more)).json()) as Answer;
  const request = async (runId: string, calls: readonly object[]): Promise<readonly Call[]> =>
    (await post(tokens.agent, '/v1/tool-calls', { runId, calls })).calls;

  const recorded: Call[] = [];
  const calls = Array.from({ length: 12 }, (_, index) => {
    const args = { number: index, password: 'hidden' };
    return { toolCallId: `call-${String(index)}`, toolName: 'pay', arguments: args, needsApproval: index % 3 !== 0 };
  });
  for (const runId of runs) recorded.push(...(await request(runId, calls)));
  const grantOf = async (toolName: string) => {
    const grant = { toolName, match: { any: true }, expiresInMs: 3_600_000, reason: 'for schemathesis' };
    return (await post(tokens.me, '/v1/grants', grant)).grantId;
  };
  const grantIds: string[] = [];
  for (const toolName of ['a', 'b', 'c', 'd']) grantIds.push(await grantOf(toolName));

  /** A call of its own, so that no other operation ends it. */
  const own = async (name: string, needsApproval: boolean, more: object = {}) => {
    const call = { toolCallId: 'call-1', toolName: 'pay', arguments: { password: 'hidden' }, needsApproval, ...more };
    const [one] = await request(`run-of-${name}`, [call]);
    const { callId, approval } = one ?? { callId: '', approval: null };
    return { callId, approvalId: approval?.approvalId ?? '' };
  };
  const runOf = async (name: string): Promise<string> => {
    await own(name, true);
    return `run-of-${name}`;
  };
  const claimed = async (name: string, leaseMs: number) => {
    const { callId } = await own(name, false);
    const { receipt } = await post(tokens.worker, `/v1/tool-calls/${callId}/claim`, {
      resolverId: 'worker-1',
      leaseMs,
    });
    return { callId, receipt };
  };
  const ofCall = ({ callId }: { readonly callId: string }, body?: object): Example => ({
    path_parameters: { callId },
    ...(body === undefined ? {} : { body }),
  });
  const ofApproval = ({ approvalId }: { readonly approvalId: string }, body?: object): Example => ({
    path_parameters: { approvalId },
    ...(body === undefined ? {} : { body }),
  });
  const session = async (token: string) => {
    const signedIn = await send('POST', token, '/session', { token }, inInbox);
    return { ...inInbox, cookie: (signedIn.headers.get('set-cookie') ?? '').split(';')[0] ?? '' };
  };
  const site = { rpId: 'localhost', origin: url };
  const made = async (headers: object, key = createAuthenticator()) => {
    const { nonce, publicKey } = await post('', '/v1/me/passkeys/options', {}, headers);
    return { key, body: { name: 'laptop', registration: { ...key.register(publicKey.challenge, site), nonce } } };
  };
  const [mine, anns] = [await session(tokens.me), await session(ann)];
  const registered = async (headers: object) => {
    const { key, body } = await made(headers);
    await post('', '/v1/me/passkeys', body, headers);
    return key;
  };
  const first = await registered(mine);
  const waiting = await registered(anns);
  const nonce = randomBytes(16).toString('base64url');
  const { credentialId, publicKey } = waiting;
  const challenge = confirmationChallenge({ tenant: 'default', principal: 'ann', credentialId, publicKey, nonce });
  const ofPasskey = (key: { readonly credentialId: string }): Example => ({
    path_parameters: { credentialId: key.credentialId },
    headers: mine,
  });
  const checkpoint = await (await send('POST', tokens.me, '/v1/log/checkpoint')).text();
  const tile = `0/000.p/${String(Number(checkpoint.split('\n')[1]) % 256)}`;
  const lost = await claimed('reconcile', 1);
  await send('GET', tokens.me, `/v1/tool-calls/${lost.callId}?waitMs=30000&until=settled`);
  const voted = await own('withdraw', true, { toolName: 'two' });
  const approve = { decision: { type: 'approve' } };
  await post(tokens.me, `/v1/approvals/${voted.approvalId}/responses`, approve);
  return {
    ids: {
      callId: recorded.map(({ callId }) => callId),
      approvalId: recorded.flatMap(({ approval }) => (approval === null ? [] : [approval.approvalId])),
      runId: runs,
      grantId: grantIds,
    },
    examples: {
      getToolCall: ofCall(await own('read', true)),
      requestApproval: ofCall(await own('ask', false), {}),
      cancelToolCall: ofCall(await own('cancel', true), { reason: 'no longer needed' }),
      getRun: { path_parameters: { runId: await runOf('read-run') } },
      cancelRun: { path_parameters: { runId: await runOf('cancel-run') }, body: { reason: 'no longer needed' } },
      getApproval: ofApproval(await own('show', true)),
      respond: ofApproval(await own('answer', true), approve),
      respondInBulk: { body: { approvalIds: [(await own('bulk', true)).approvalId], ...approve } },
      revealValues: ofApproval(await own('reveal', true), {}),
      withdrawResponse: ofApproval(voted),
      getGrant: { path_parameters: { grantId: await grantOf('read') } },
      revokeGrant: { path_parameters: { grantId: await grantOf('revoke') }, body: {} },
      claimExecution: ofCall(await own('claim', false), { resolverId: 'worker-1' }),
      renewClaim: ofCall(await claimed('renew', 3_600_000), { attempt: 1 }),
      reportExecution: ofCall(await claimed('report', 3_600_000), { attempt: 1, status: 'succeeded', output: null }),
      submitClientOutput: ofCall(await own('client', false, { clientExecuted: true }), {
        status: 'succeeded',
        output: 1,
      }),
      reconcileExecution: ofCall(lost, { status: 'succeeded', note: 'seen at the bank' }),
      introspectReceipt: { body: { token: (await claimed('receipt', 3_600_000)).receipt } },
      auditToolCall: ofCall(await own('audit', true)),
      proveToolCall: ofCall(await own('proof', true)),
      confirmGrant: { path_parameters: { grantId: await grantOf('risky') }, headers: anns },
      registerPasskey: { headers: mine, body: (await made(mine)).body },
      getMyPasskey: ofPasskey(first),
      removePasskey: ofPasskey(await registered(mine)),
      confirmPasskey: { ...ofPasskey(waiting), body: { assertion: first.sign(challenge, nonce, site) } },
      readTile: { path_parameters: { tile } },
      readTileOf: { path_parameters: { tenant: 'default', tile } },
    },
  };
}
