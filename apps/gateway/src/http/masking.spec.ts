import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApprovalView, ClaimView, JsonObject, ToolCallView } from '@countersign/contracts';
import type { RecordOfUse } from '../record-of-use.js';
import { createApi } from '../testing/api.js';
import type { Api } from '../testing/api.js';
import { createTestPolicies } from '../testing/policies.js';
import { openWorld } from '../testing/world.js';
import type { World } from '../testing/world.js';

let world: World;
let api: Api;
/** What the log of record is told. */
const recorded: object[] = [];
beforeAll(async () => {
  const use = { auditRead: (_: unknown, read: object) => void recorded.push(read) } as unknown as RecordOfUse;
  world = await openWorld({ policies: createTestPolicies(), change: (ports) => ({ ...ports, use }) });
  api = createApi(world);
});
afterAll(() => world.close());

const secret = 'hunter2-canary';
const text = JSON.stringify({ user: 'a', password: secret }, null, 1);
const args = { host: 'db', password: secret, nested: { apiKey: secret }, card: secret, text };
const toolSchema = { type: 'object', properties: { card: { type: 'string', sensitive: true } } };
const pending = () => api.pending({ arguments: args, toolSchema });
const mask = /^\[masked sha256:[0-9a-f]{16}\]$/;
const get = async (as: string, path: string) => JSON.stringify((await api.send('GET', path, { as })).body);

describe('sensitive values', () => {
  it.each([
    ['agent', true],
    ['auditor', false],
    ['me', false],
    ['agent2', false],
    ['ann', false],
    ['worker', false],
    ['admin', false],
  ])('are whole for %s: %s', async (as, isWhole) => {
    const { callId, runId } = await pending();
    for (const path of [`/v1/tool-calls/${callId}`, `/v1/runs/${runId}`]) {
      expect((await get(as, path)).includes(secret)).toBe(isWhole);
    }
  });

  it('are masked in approvals for approvers and admins, with a hash to compare by', async () => {
    const { approvalId, runId } = await pending();
    for (const as of ['ann', 'admin']) {
      expect(await get(as, `/v1/approvals?runId=${runId}`)).not.toContain(secret);
      const { body } = await api.send<ApprovalView>('GET', `/v1/approvals/${approvalId}`, { as });
      expect(body.arguments).toEqual({
        host: 'db',
        password: expect.stringMatching(mask),
        nested: { apiKey: expect.stringMatching(mask) },
        card: expect.stringMatching(mask),
        text: expect.stringMatching(/^\{\n "user": "a",\n "password": "\[masked sha256:[0-9a-f]{16}\]"\n\}$/),
      });
      expect(body.arguments['password']).toBe(body.arguments['card']);
    }
  });

  it.each(['auditor', 'me'])('are shown to %s who asks for clear values, and the log of record is told', async (as) => {
    const { approvalId, callId, runId } = await pending();
    const reads = [
      [`/v1/tool-calls/${callId}?values=clear`, { what: 'call', values: 'clear', callId }],
      [`/v1/audit/tool-calls/${callId}/events?values=clear`, { what: 'call', values: 'clear', callId }],
      [`/v1/approvals/${approvalId}?values=clear`, { what: 'call', values: 'clear', callId }],
      [`/v1/tool-calls?runId=${runId}&values=clear`, { what: 'list', values: 'clear' }],
      [`/v1/approvals?runId=${runId}&values=clear`, { what: 'list', values: 'clear' }],
      [`/v1/runs/${runId}?values=clear`, { what: 'list', values: 'clear' }],
    ] as const;
    for (const [path, read] of reads) {
      recorded.length = 0;
      expect(await get(as, path)).toContain(secret);
      expect(recorded).toEqual([read]);
      expect(await get(as, path.replace(/.values=clear/, ''))).not.toContain(secret);
      expect(recorded).toHaveLength(1);
    }
  });

  it.each(['agent', 'ann', 'admin', 'worker'])('are not shown in clear to %s, who is no auditor', async (as) => {
    const { callId, runId } = await pending();
    recorded.length = 0;
    for (const path of [`/v1/tool-calls/${callId}`, `/v1/runs/${runId}`, '/v1/tool-calls', '/v1/events']) {
      const { status, body } = await api.send('GET', `${path}?values=clear`, { as });
      expect([status, JSON.stringify(body)]).toEqual([403, expect.not.stringContaining(secret)]);
      const headers = { authorization: `Bearer ${as}-token` };
      const head = await fetch(`${world.url}${path}?values=clear`, { method: 'HEAD', headers });
      expect(head.status).toBe(403);
    }
    expect(recorded).toEqual([]);
  });

  it('are shown by no other word', async () => {
    const { callId } = await pending();
    expect((await api.send('GET', `/v1/tool-calls/${callId}?values=stored`, { as: 'auditor' })).status).toBe(400);
  });

  describe('are not found out by a guess in an edit', () => {
    const { text: _, ...hidden } = args;
    const asked = async () => (await api.pending({ toolName: 'two_people', arguments: hidden, toolSchema })).approvalId;
    const edit = async (approvalId: string, as: string, edited: object) =>
      (
        await api.send<ApprovalView>('POST', `/v1/approvals/${approvalId}/responses`, {
          as,
          body: { decision: { type: 'edit', arguments: edited } },
        })
      ).body;
    const seenBy = async (approvalId: string) =>
      (await api.send<ApprovalView>('GET', `/v1/approvals/${approvalId}`, { as: 'ann' })).body;
    const masksOf = ({ arguments: { password, card, again } }: ApprovalView) => [password, card, again];

    it('that writes the value again: it has another mask and another digest, and is another proposal', async () => {
      const approvalId = await asked();
      const before = await seenBy(approvalId);
      const right = await edit(approvalId, 'ann', { ...before.arguments, password: secret, host: 'db' });
      const wrong = await edit(approvalId, 'ann', { ...right.arguments, password: 'wrong' });
      expect([before, right, wrong].map(({ proposal }) => proposal.number)).toEqual([1, 2, 3]);
      expect(new Set([before, right, wrong].map(({ actionDigest }) => actionDigest)).size).toBe(3);
      expect(new Set([before, right, wrong].map((one) => one.arguments['password'])).size).toBe(3);
      expect(new Set([before, right, wrong].map((one) => one.arguments['card'])).size).toBe(3);
    });

    it('that writes it under another name, next to the value', async () => {
      const approvalId = await asked();
      const { arguments: seen } = await seenBy(approvalId);
      const toldApart = masksOf(await edit(approvalId, 'ann', { ...seen, again: { password: secret } }));
      const { password } = toldApart[2] as { password: string };
      expect(new Set([toldApart[0], toldApart[1], password]).size).toBe(3);
    });

    it('and an edit that leaves all masks in their places is the same proposal for the next person', async () => {
      const approvalId = await asked();
      const { arguments: seen } = await seenBy(approvalId);
      const edited = await edit(approvalId, 'ann', { ...seen, host: 'other' });
      const same = await edit(approvalId, 'me', edited.arguments);
      expect(same).toMatchObject({ state: 'approved', proposal: { number: 2 } });
      const { body } = await api.send<ClaimView>('POST', `/v1/tool-calls/${same.callId}/claim`, {
        as: 'worker',
        body: { resolverId: 'r' },
      });
      expect(body.arguments).toEqual({ ...hidden, host: 'other' });
    });
  });

  it('are masked for a person who may decide, auditor or not', async () => {
    const { approvalId, callId, runId } = await pending();
    const paths = [`/v1/approvals/${approvalId}`, `/v1/approvals?runId=${runId}`, `/v1/tool-calls/${callId}`];
    for (const path of [...paths, `/v1/audit/tool-calls/${callId}/events`]) {
      expect(await get('me', path)).not.toContain(secret);
    }
  });

  it('are whole in the claim, which is what runs, and masked again in the outcome', async () => {
    const { approvalId, callId } = await pending();
    await api.send('POST', `/v1/approvals/${approvalId}/responses`, {
      as: 'ann',
      body: { decision: { type: 'approve' } },
    });
    const claim = await api.send<ClaimView>('POST', `/v1/tool-calls/${callId}/claim`, {
      as: 'worker',
      body: { resolverId: 'w' },
    });
    expect(claim.body.arguments).toEqual(args);
    const body = { attempt: 1, status: 'succeeded', output: { ok: true, accessToken: secret, text } };
    const reported = await api.send<ToolCallView>('POST', `/v1/tool-calls/${callId}/outcome`, { as: 'worker', body });
    expect(JSON.stringify(reported.body)).not.toContain(secret);
    expect(reported.body.output).toEqual({
      ok: true,
      accessToken: '[masked]',
      text: text.replace(secret, '[masked]'),
    });
    expect((await api.send<ToolCallView>('GET', `/v1/tool-calls/${callId}`)).body.output).toEqual(body.output);
  });

  it('sent back masked in an edit keep what they stood for', async () => {
    const { approvalId, callId } = await pending();
    const { body: seen } = await api.send<ApprovalView>('GET', `/v1/approvals/${approvalId}`, { as: 'ann' });
    const edited: JsonObject = { ...seen.arguments, host: 'replica' };
    const body = { decision: { type: 'edit', arguments: edited } };
    const { body: answer, status } = await api.send<ApprovalView>('POST', `/v1/approvals/${approvalId}/responses`, {
      as: 'ann',
      body,
    });
    expect(status).toBe(200);
    expect(JSON.stringify(answer)).not.toContain(secret);
    const { body: call } = await api.send<ToolCallView>('GET', `/v1/tool-calls/${callId}`);
    expect(call.arguments).toEqual({ ...args, host: 'replica' });
  });

  it('in a text are restored to the byte, and a mask that was moved in it is refused', async () => {
    const { approvalId, callId } = await pending();
    const { body: seen } = await api.send<ApprovalView>('GET', `/v1/approvals/${approvalId}`, { as: 'ann' });
    const shown = seen.arguments['text'] as string;
    const answer = (changed: string) =>
      api.send('POST', `/v1/approvals/${approvalId}/responses`, {
        as: 'ann',
        body: { decision: { type: 'edit', arguments: { ...seen.arguments, text: changed } } },
      });
    const moved = await answer(shown.replace('"password"', '"note"'));
    expect([moved.status, moved.body]).toMatchObject([422, { code: 'invalid-arguments', errors: [{ path: 'text' }] }]);
    const broken = await answer(shown.replace('}', ''));
    expect(broken.status).toBe(422);
    expect((await answer(shown.replace('"a"', '"b"'))).status).toBe(200);
    const { body: call } = await api.send<ToolCallView>('GET', `/v1/tool-calls/${callId}`);
    expect(call.arguments).toEqual({ ...args, text: text.replace('"a"', '"b"') });
  });

  it('stay hidden when an edit gives them another name', async () => {
    const headers = [{ name: 'Authorization', value: secret }];
    const { approvalId, callId } = await api.pending({ arguments: { headers } });
    const { body: seen } = await api.send<ApprovalView>('GET', `/v1/approvals/${approvalId}`, { as: 'ann' });
    const [shown] = seen.arguments['headers'] as JsonObject[];
    const edited = { headers: [{ ...shown, name: 'X-Trace' }] };
    const body = { decision: { type: 'edit', arguments: edited } };
    const { status } = await api.send('POST', `/v1/approvals/${approvalId}/responses`, { as: 'ann', body });
    expect(status).toBe(200);
    expect(await get('ann', `/v1/tool-calls/${callId}`)).not.toContain(secret);
    expect(await get('auditor', `/v1/tool-calls/${callId}?values=clear`)).toContain(
      `{"name":"X-Trace","value":"${secret}"}`,
    );
  });

  it('are not revealed by an invented mask', async () => {
    const { approvalId } = await pending();
    const body = { decision: { type: 'edit', arguments: { ...args, host: '[masked sha256:0000000000000000]' } } };
    const { status, body: problem } = await api.send('POST', `/v1/approvals/${approvalId}/responses`, {
      as: 'ann',
      body,
    });
    expect([status, problem]).toMatchObject([422, { code: 'invalid-arguments', errors: [{ path: 'host' }] }]);
  });

  it('are nowhere in the log', () => {
    expect(JSON.stringify(world.log.entries)).not.toContain(secret);
  });
});

interface Tried {
  readonly status: string;
  readonly problem?: { readonly code: string };
}

describe('an edit that keeps a hidden value next to a guess', () => {
  const codes = {
    type: 'object',
    properties: { codes: { type: 'array', uniqueItems: true, items: { type: 'string', sensitive: true } } },
  };
  const tried = async (approvalId: string, edit: JsonObject, more: object) => {
    const decision = { type: 'edit', arguments: edit };
    const { body } = await api.send<{ results: Tried[] }>('POST', '/v1/approvals/responses', {
      as: 'ann',
      body: { approvalIds: [approvalId, 'ap_none'], decision, ...more },
    });
    return body.results.slice(0, 1).map(({ status, problem }) => [status, problem?.code])[0];
  };

  it.each([{ dryRun: true }, { mode: 'all-or-nothing' }])('is not tried for many approvals: %j', async (more) => {
    const { approvalId } = await api.pending({ arguments: { codes: ['4711'] }, toolSchema: codes });
    const { body } = await api.send<ApprovalView>('GET', `/v1/approvals/${approvalId}`, { as: 'ann' });
    const [kept] = body.arguments['codes'] as string[];
    const hit = await tried(approvalId, { codes: [kept!, '4711'] }, more);
    expect(hit).toEqual(await tried(approvalId, { codes: [kept!, '1'] }, more));
    expect(hit).toEqual(['rejected', 'decision-not-allowed']);
    expect(await tried(approvalId, { codes: ['1', '2'] }, { dryRun: true })).toEqual(['possible', undefined]);
  });

  it('is recorded as a look at the hidden value where it is refused', async () => {
    const { approvalId, callId } = await api.pending({ arguments: { codes: ['4711'] }, toolSchema: codes });
    const { body: card } = await api.send<ApprovalView>('GET', `/v1/approvals/${approvalId}`, { as: 'ann' });
    const [kept] = card.arguments['codes'] as string[];
    const edit = (written: readonly string[], more = {}) =>
      api.send<{ code: string }>('POST', `/v1/approvals/${approvalId}/responses`, {
        as: 'ann',
        body: { decision: { type: 'edit', arguments: { codes: written } }, ...more },
      });
    const revealed = async () => {
      const path = `/v1/audit/tool-calls/${callId}/events`;
      const { body } = await api.send<{ events: { type: string; data: object }[] }>('GET', path, { as: 'auditor' });
      return body.events.filter(({ type }) => type === 'ValuesRevealed').map(({ data }) => data);
    };
    expect((await edit([kept!, '4711'])).body.code).toBe('invalid-arguments');
    const look = { revealedBy: 'ann', pointers: ['/codes/0'] };
    expect(await revealed()).toMatchObject([look]);
    // A refusal for another reason comes before anything is compared, so it tells nothing.
    const stale = { actionDigest: `sha256:${'0'.repeat(64)}` };
    expect((await edit([kept!, '4711'], stale)).body.code).toBe('digest-mismatch');
    expect((await edit(['1', '1'])).body.code).toBe('invalid-arguments');
    expect(await revealed()).toHaveLength(1);
  });
});
