import { bodyOf, formatTlogProof } from '@countersign/audit';
import { registerPasskey } from '@countersign/commands';
import type { ApprovalView } from '@countersign/contracts';
import { registrationChallenge } from '@countersign/passkeys';
import { createAuthenticator } from '@countersign/passkeys/testing';
import { createPolicies, loadPolicy } from '@countersign/policy';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { LogCheckpoints } from '../log-checkpoints.js';
import type { LogTiles } from '../log-tiles.js';
import type { RecordOfUse } from '../record-of-use.js';
import { createApi } from '../testing/api.js';
import type { Api } from '../testing/api.js';
import { signedApproval } from '../testing/signing.js';
import { actorOf, openWorld } from '../testing/world.js';
import type { World } from '../testing/world.js';

const noteOf = (size: number): string =>
  `log/default/1\n${String(size)}\n${Buffer.alloc(32).toString('base64')}\n\n\u2014 log/default/1 c2lnbmF0dXJl\n`;
const changeIn = (note: string): string =>
  JSON.stringify({ index: 2, entry: '{}', body: null, proof: formatTlogProof({ index: 2, path: [], note }) });
let size = 0;
const reads: unknown[] = [];
const use: RecordOfUse = {
  signedIn: () => undefined,
  signInRefused: () => undefined,
  auditRead: (_actor, read) => Promise.resolve(void reads.push(read)),
  logRestored: () => Promise.resolve(),
  lossKnown: () => Promise.resolve(),
  close: () => Promise.resolve(),
};
const checkpoints: LogCheckpoints = {
  rewound: () => undefined,
  goOn: () => Promise.resolve({ status: 'empty' }),
  newest: () => (size === 0 ? undefined : noteOf(size)),
  sign: () => {
    size = 99;
    return Promise.resolve({ status: 'signed', note: noteOf(size) });
  },
  timestamps: () => Promise.resolve([]),
  keyChanges: () => [
    changeIn(noteOf(3)),
    changeIn(noteOf(200)),
    changeIn(noteOf(3).replaceAll('log/default/1', 'log/default/2')),
  ],
  vkeys: () => Promise.resolve(['log/default/1+1+key']),
};

let world: World;
let api: Api;
let policies = createPolicies([]);
beforeAll(async () => {
  world = await openWorld({
    change: (ports) => {
      // The values of this store are not sealed.
      const tiles: LogTiles = {
        tenants: () => ['default'],
        hashTile: () => Promise.resolve(new Uint8Array(0)),
        entryTile: () => Promise.resolve([]),
        prove: async (_tenant, stream, note) => {
          const events = await ports.store.readStream(stream);
          return events.flatMap((event) => {
            if (event.unreadable !== undefined) return [];
            const { data, metadata, type, revision, eventId, recordedAt } = event;
            const body = { data, metadata };
            const entry = JSON.stringify({ v: 1, stream, type, revision, eventId, recordedAt, body: bodyOf(body) });
            return { index: event.position, entry, body, proof: formatTlogProof({ index: 0, path: [], note }) };
          });
        },
      };
      const commands = { ...ports.commands, policies: { of: (tenant: string) => policies.of(tenant) } };
      return { ...ports, commands, checkpoints, tiles, use };
    },
  });
  api = createApi(world);
});
afterAll(() => world.close());

interface Proof {
  readonly origin: string;
  readonly vkey: string;
  readonly checkpoint: string;
  readonly events: readonly { readonly index: number; readonly entry: string; readonly body: unknown }[];
  readonly keyChanges?: readonly unknown[];
  readonly policies: readonly { readonly policyVersion: string; readonly content: unknown }[];
}
const typesOf = ({ events }: Proof) => events.map(({ entry }) => (JSON.parse(entry) as { type: string }).type);

it('a proof has every event of the call, with the policy that judged it, under a checkpoint that covers them', async () => {
  const { callId } = await api.pending({ arguments: { path: '/etc/hosts' } });
  const { status, body } = await api.send<Proof>('GET', `/v1/audit/tool-calls/${callId}/proof`, { as: 'auditor' });
  expect(status).toBe(200);
  expect(body).toMatchObject({
    ...{ format: 'countersign-proof/1', tenant: 'default', origin: 'log/default/1', callId },
    ...{ vkey: 'log/default/1+1+key', checkpoint: noteOf(99), later: 'not excluded' },
    policies: [{ policyVersion: expect.stringMatching(/^sha256:/), content: { version: 1 } }],
  });
  expect(typesOf(body)).toEqual(['ToolCallRequested', 'ApprovalRequested']);
  // A later change of the log key and one of another epoch say nothing about this checkpoint.
  expect(body.keyChanges).toEqual([JSON.parse(changeIn(noteOf(3)))]);
  expect(body.events.every((event) => event.body !== null)).toBe(true);
});

it('has the built-in policy also after a file replaced it', async () => {
  const { callId } = await api.pending();
  policies = createPolicies([loadPolicy('policy.yaml', 'version: 1\ndefault: require\n')]);
  const { body } = await api.send<Proof>('GET', `/v1/audit/tool-calls/${callId}/proof`, { as: 'auditor' });
  policies = createPolicies([]);
  expect(body.policies.map(({ content }) => content)).toEqual([{ version: 1, tenant: 'default', default: 'allow' }]);
});

it('of an event whose sensitive values are not sealed it has the hash alone, unless they are wanted, which is recorded', async () => {
  const { callId } = await api.pending({ arguments: { password: 'hunter2' } });
  const path = `/v1/audit/tool-calls/${callId}/proof`;
  const masked = await api.send<Proof>('GET', path, { as: 'auditor' });
  expect(JSON.stringify(masked.body)).not.toContain('hunter2');
  expect(masked.body.events.map(({ body }) => body === null)).toEqual([true, false]);
  expect(reads).toEqual([]);
  const clear = await api.send<Proof>('GET', `${path}?values=clear`, { as: 'auditor' });
  expect(JSON.stringify(clear.body)).toContain('hunter2');
  expect(reads).toEqual([{ what: 'call', values: 'clear', callId }]);
});

it('has the hash alone of a request whose tool has a default for a hidden argument', async () => {
  const toolSchema = { type: 'object', properties: { mark: { type: 'string', sensitive: true, default: 'hunter2' } } };
  const { callId } = await api.pending({ toolSchema, arguments: {} });
  const path = `/v1/audit/tool-calls/${callId}/proof`;
  const { body } = await api.send<Proof>('GET', path, { as: 'auditor' });
  expect(JSON.stringify(body)).not.toContain('hunter2');
  expect(body.events.map((event) => event.body === null)).toEqual([true, false]);
});

it('a batch is proven with its members, and a grant up to its use', async () => {
  const calls = ['a', 'b'].map((toolCallId) => ({ toolCallId, toolName: 't', arguments: {}, needsApproval: true }));
  const { body: requested } = await api.send<{ calls: { callId: string; approval: { approvalId: string } }[] }>(
    'POST',
    '/v1/tool-calls',
    { body: { runId: 'batched', batchMode: 'all-or-nothing', calls } },
  );
  for (const { approval } of requested.calls)
    await api.send('POST', `/v1/approvals/${approval.approvalId}/responses`, {
      as: 'ann',
      body: { decision: { type: 'approve' } },
    });
  const [one] = requested.calls;
  await api.send('POST', `/v1/tool-calls/${one!.callId}/claim`, { as: 'worker', body: { resolverId: 'w' } });
  const { body } = await api.send<Proof>('GET', `/v1/audit/tool-calls/${one!.callId}/proof`, { as: 'auditor' });
  expect(typesOf(body)).toContain('BatchBegun');
});

it('a signed response is proven with the passkeys of the tenant', async () => {
  const site = { rpId: 'localhost', origin: 'http://localhost:7400' };
  const key = createAuthenticator();
  const nonce = 'n'.repeat(22);
  const challenge = registrationChallenge({ tenant: 'default', principal: 'ann', rpId: site.rpId, nonce });
  const person = { ...actorOf('ann-token'), session: `sha256:${'0'.repeat(64)}` };
  const made = { name: 'key', nonce, transports: [], ...key.register(challenge, site) };
  expect((await registerPasskey(world.commands, person, site, made, 'registered')).status).toBe('done');
  const { callId, approvalId } = await api.pending({ arguments: { path: '/etc/hosts' } });
  const { body: view } = await api.send<ApprovalView>('GET', `/v1/approvals/${approvalId}`, { as: 'ann' });
  const body = signedApproval(view, key, site);
  expect((await api.send('POST', `/v1/approvals/${approvalId}/responses`, { as: 'ann', body })).status).toBe(200);
  const { body: proof } = await api.send<Proof>('GET', `/v1/audit/tool-calls/${callId}/proof`, { as: 'auditor' });
  expect(typesOf(proof)).toContain('PasskeyRegistered');
});

it('a call of another tenant is not found, and other roles get nothing', async () => {
  const { callId } = await api.pending();
  const path = `/v1/audit/tool-calls/${callId}/proof`;
  expect(await api.send('GET', path, { as: 'other' })).toMatchObject({ status: 404 });
  expect(await api.send('GET', path, { as: 'admin' })).toMatchObject({ status: 403 });
  expect(await api.send('GET', '/v1/audit/tool-calls/none/proof', { as: 'auditor' })).toMatchObject({ status: 404 });
});
