import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { argumentsDigest } from '@countersign/contracts';
import type { GrantPreview, GrantView } from '@countersign/contracts';
import { runCli } from '../program.js';
import { knownToken, startContractServer } from '../testing/contract-server.js';
import type { ContractServer } from '../testing/contract-server.js';
import { createFakeTerminal } from '../testing/fake-terminal.js';
import { approvalOf, callOf } from '../testing/fixtures.js';

const grant: GrantView = {
  ...{ grantId: 'grn_aaaaaaaaaaaaaaaaaaaaaaaaaa', toolName: 'refund_order', match: { when: 'args.amount <= 50' } },
  ...{
    runId: null,
    agentId: 'billing-agent',
    requestedBy: 'worker',
    labels: null,
    reason: 'a busy\u001b[2J day',
    risk: 'low',
    approvalId: null,
  },
  ...{ createdBy: 'ann', createdAt: '2026-11-22T10:00:00.000Z', confirmedBy: null, confirmedAt: null },
  ...{ expiresAt: '2026-11-22T18:00:00.000Z', maxUses: 20, uses: 3, lastUsedAt: null, lastCallIds: [] },
  ...{ state: 'active', revokedBy: null, revokedAt: null, revokeReason: null },
};
const preview: GrantPreview = {
  ...{ state: 'pending', risk: 'high', scanned: 12, covered: 2, notCompared: 1, byOutcome: { approved: 1, denied: 1 } },
  calls: [
    {
      ...{ callId: 'tc_a', approvalId: 'apr_a_1', runId: 'r', agentId: 'billing-agent', outcome: 'denied' },
      requestedAt: '2026-11-22T10:00:00.000Z',
    },
  ],
};

let server: ContractServer;
beforeEach(async () => {
  server = await startContractServer();
  server.intercept = ({ method, path }) => {
    if (!path.startsWith('/v1/grants')) return undefined;
    if (path.includes('dryRun')) return { status: 200, body: preview };
    if (method === 'GET' && !path.includes('grn_')) {
      return { status: 200, body: { grants: [grant], nextCursor: null, position: 1 } };
    }
    return { status: 200, body: grant };
  };
});
afterEach(() => server.close());

async function run(...args: readonly string[]) {
  const terminal = createFakeTerminal({ env: { COUNTERSIGN_URL: server.url, COUNTERSIGN_TOKEN: knownToken } });
  const code = await runCli(args, terminal);
  terminal.interrupt();
  return { code, out: terminal.out(), err: terminal.err() };
}
const bodies = (): unknown[] =>
  server.requests.filter(({ body }) => body !== '').map(({ body }) => JSON.parse(body) as unknown);
const asked = (): string[] => server.requests.map(({ method, path }) => `${method} ${path}`);
const create = ['grants', 'create', '--tool', 'refund_order', '--for', '8h', '--reason', 'busy'] as const;

describe('countersign grants', () => {
  it('lists what each grant permits, for whom, and how often it was used', async () => {
    const { code, out } = await run('grants', 'list', '--state', 'active', '--tool', 'refund_order');
    expect(code).toBe(0);
    expect(out).toContain('used 3 of 20');
    expect(out).toContain('refund_order: when args.amount <= 50, agent billing-agent of worker, every run');
    expect(out).not.toContain('\u001b[2J');
    expect(asked()[0]).toContain('state=active');
  });

  it('prints JSON for programs', async () => {
    const { out } = await run('grants', 'list', '--json');
    expect(JSON.parse(out)).toEqual(grant);
  });

  it('creates a grant of the given match, scope and time', async () => {
    const { code } = await run(
      ...create,
      '--when',
      'args.amount <= 50',
      '--agent',
      'a',
      '--principal',
      'w',
      '--max-uses',
      '20',
    );
    expect(code).toBe(0);
    expect(bodies()).toEqual([
      {
        ...{
          toolName: 'refund_order',
          match: { when: 'args.amount <= 50' },
          agentId: 'a',
          requestedBy: 'w',
          maxUses: 20,
        },
        ...{ expiresInMs: 8 * 3_600_000, reason: 'busy' },
      },
    ]);
  });

  it('computes the digest of the arguments of a call, and names its folder', async () => {
    const call = callOf(approvalOf(), { toolName: 'refund_order', arguments: { amount: 7 }, approval: null });
    server.calls.set(call.callId, call);
    expect((await run(...create, '--exact', call.callId)).code).toBe(0);
    expect(bodies()).toMatchObject([{ match: { digest: argumentsDigest('refund_order', { amount: 7 }) } }]);
    server.calls.set(call.callId, { ...call, approval: approvalOf({ labels: { cwd: '/srv', ticket: '1' } }) });
    expect((await run(...create, '--exact', call.callId)).code).toBe(0);
    expect(bodies().at(-1)).toMatchObject({ labels: { cwd: '/srv' } });
    const approval = approvalOf({ hiddenValues: [{ pointer: '/password', why: 'name' }] });
    server.calls.set(call.callId, { ...call, approval });
    expect(await run(...create, '--exact', call.callId)).toMatchObject({
      code: 2,
      err: expect.stringContaining('--remember exact'),
    });
  });

  it('shows with --dry-run what would have been covered, and creates nothing', async () => {
    const { code, out } = await run(...create, '--any', '--dry-run');
    expect(code).toBe(0);
    expect(out).toContain('2 of the 12 newest approvals of this tool: 1 approved, 1');
    expect(out).toContain('Nothing was created. The grant would be pending.');
    expect(asked()).toEqual(['POST /v1/grants?dryRun=true']);
  });

  it.each([
    ['no match', create],
    ['two matches', [...create, '--any', '--when', 'true']],
    ['a time that is none', [...create.slice(0, 5), 'soon', '--reason', 'x', '--any']],
  ])('needs other options than %s', async (_, args) => {
    expect((await run(...args)).code).toBe(2);
    expect(asked()).toEqual([]);
  });

  it('shows, confirms and revokes one', async () => {
    for (const name of ['show', 'confirm', 'revoke']) expect((await run('grants', name, grant.grantId)).code).toBe(0);
    const path = `/v1/grants/${grant.grantId}`;
    expect(asked()).toEqual([`GET ${path}`, `POST ${path}/confirm`, `DELETE ${path}`]);
  });
});

describe('countersign grants revoke', () => {
  it('records why', async () => {
    expect((await run('grants', 'revoke', grant.grantId, '--reason', 'enough')).code).toBe(0);
    expect(bodies()).toEqual([{ reason: 'enough' }]);
  });
});

describe('countersign approve --remember', () => {
  it('asks for a grant with the approval, and shows it', async () => {
    const approval = approvalOf();
    server.intercept = ({ method }) => ({
      status: 200,
      body: method === 'POST' ? { ...approval, state: 'approved', grant } : approval,
    });
    const { code, out } = await run('approve', approval.approvalId, '--remember', 'exact', '--for', '8h');
    expect(code).toBe(0);
    expect(out).toContain(grant.grantId);
    const remember = { match: 'exact', scope: 'run', expiresInMs: 8 * 3_600_000 };
    const shown = { proposalDigest: approval.proposal.digest, shownDigest: approval.shownDigest };
    expect(bodies()).toEqual([{ decision: { type: 'approve' }, ...shown, remember }]);
  });

  it.each([
    ['--remember', 'exact'],
    ['--remember', 'all', '--for', '8h'],
    ['--remember', 'tool', '--for', '8h', '--scope', 'world'],
    ['--for', '8h'],
  ])('needs other options than %s %s', async (...options) => {
    expect((await run('approve', 'apr_aaaaaaaaaaaaaaaaaaaaaaaaaa_1', ...options)).code).toBe(2);
    expect(asked()).toEqual([]);
  });

  it('is not for many approvals at once', async () => {
    const { code, err } = await run('approve', '--run', 'r', '--yes', '--remember', 'tool', '--for', '8h');
    expect(code).toBe(2);
    expect(err).toContain('never creates a grant');
    expect(asked()).toEqual([]);
  });
});
