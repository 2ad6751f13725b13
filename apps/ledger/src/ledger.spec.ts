import { claim, fireDue, requestToolCalls, respond } from '@countersign/commands';
import { approvalIdOf, deriveCallId } from '@countersign/contracts';
import { EventTooLargeError } from '@countersign/event-store';
import type { RecordedEvent } from '@countersign/contracts';
import { systemClock } from '@countersign/runtime';
import { approver, callOf, openLedgerWorld, requestMessage } from './testing/ledger-world.js';
import type { LedgerWorld } from './testing/ledger-world.js';

const step = (...calls: readonly object[]): object => ({ runId: 'run-1', calls });

describe('the ledger', () => {
  let world: LedgerWorld;
  beforeEach(async () => {
    world = await openLedgerWorld();
  });
  afterEach(async () => {
    await world.close();
  });
  const handled = { outcome: 'handled', attempts: 1, transient: 0 };
  const send = (type: string, data: unknown, headers = {}) => world.deliver(requestMessage(type, data, headers));
  const refusalEvents = async (): Promise<RecordedEvent[]> =>
    (await world.events()).filter(({ type }) => type === 'RequestRefused');
  const answer = (toolCallId: string, type: 'approve' | 'deny') =>
    respond(
      world.commands,
      approver,
      approvalIdOf(deriveCallId('default', 'run-1', toolCallId), 1),
      { decision: { type } },
      'answer-1',
    );

  describe('ToolCallRequested', () => {
    it('records the calls of one model step, judged together', async () => {
      expect(await send('ToolCallRequested', step(callOf('a'), callOf('b', { needsApproval: false })))).toEqual(
        handled,
      );
      expect([await world.state('a'), await world.state('b')]).toEqual(['awaiting_approval', 'allowed']);
      const [requested] = await world.events();
      expect(requested?.metadata).toMatchObject({ tenant: 'default', runId: 'run-1' });
      expect(requested?.data).toMatchObject({ requestedBy: 'kafka', agentId: 'kafka' });
    });

    it('is read with null in an optional member as without it, as over HTTP', async () => {
      const body = { ...step(callOf('a', { title: null, labels: null })), agentId: null, batchMode: null };
      expect(await send('ToolCallRequested', body)).toEqual(handled);
      expect(await send('ToolCallRequested', step(callOf('a')))).toEqual(handled);
      const [requested] = await world.events();
      expect(requested?.data).toMatchObject({ agentId: 'kafka', labels: {} });
      expect(requested?.data).not.toHaveProperty('title');
    });

    it('is refused with as many ids as an event can hold', async () => {
      const ids = Array.from({ length: 256 }, (_, n) => `${String(n)}-${'呼'.repeat(2_000)}`);
      await send('ToolCallRequested', step(callOf(ids[0] ?? '')));
      await send('ToolCallRequested', step(...ids.map((id) => callOf(id, { arguments: { path: '/other' } }))));
      const [refusal] = (await world.refusals()) as { readonly toolCallIds: readonly string[] }[];
      const named = refusal?.toolCallIds;
      expect(Buffer.byteLength(JSON.stringify(named))).toBeLessThan(600 * 1024);
      expect(named).toEqual(ids.slice(0, 87));
    });

    it('records a request that comes ten times once', async () => {
      const message = requestMessage('ToolCallRequested', step(callOf('a'), callOf('b')));
      await Promise.all(Array.from({ length: 10 }, () => world.deliver(message)));
      expect(await world.types()).toHaveLength(4);
    });

    it('completes a batch of which only a part was recorded', async () => {
      const message = requestMessage('ToolCallRequested', step(callOf('a'), callOf('b'), callOf('c')));
      let appends = 0;
      const { append } = world.store;
      // A temporary fault of the store: one member of the batch fails once.
      Object.assign(world.store, {
        append: (...given: Parameters<typeof append>) => {
          appends += 1;
          if (appends === 2) world.failAppends(1);
          return append(...given);
        },
      });
      expect(await world.deliver(message)).toEqual({ outcome: 'handled', attempts: 1, transient: 1 });
      expect([await world.state('a'), await world.state('b'), await world.state('c')]).toEqual(
        Array.from({ length: 3 }, () => 'awaiting_approval'),
      );
      expect(await world.types()).toHaveLength(6);
    });

    it('loses nothing and counts no attempt while the event store is down', async () => {
      world.failAppends(20);
      expect(await send('ToolCallRequested', step(callOf('a')))).toEqual({ ...handled, transient: 20 });
      expect(await world.state('a')).toBe('awaiting_approval');
    });

    it('refuses what the store would never take, and records nothing of it', async () => {
      const { append } = world.store;
      Object.assign(world.store, {
        append: (...given: Parameters<typeof append>) => {
          if (given[0].startsWith('toolCall-')) throw new EventTooLargeError('this has 2000000 bytes');
          return append(...given);
        },
      });
      expect(await send('ToolCallRequested', step(callOf('a')))).toEqual(handled);
      expect(await world.types()).toEqual(['RequestRefused']);
      expect(await world.refusals()).toMatchObject([{ code: 'payload-too-large', detail: 'this has 2000000 bytes' }]);
    });

    it('answers the same id with other arguments by a refusal, and records nothing of the step', async () => {
      await send('ToolCallRequested', step(callOf('a')));
      const other = requestMessage('ToolCallRequested', step(callOf('b'), callOf('a', { arguments: { path: '/x' } })));
      for (let times = 0; times < 3; times += 1) expect(await world.deliver(other)).toEqual(handled);
      expect(await world.state('b')).toBeNull();
      const refusals = await refusalEvents();
      expect(refusals).toHaveLength(1);
      expect(refusals[0]).toMatchObject({
        stream: 'refusals-default',
        metadata: { callId: null, runId: 'run-1', tenant: 'default' },
        data: { requestId: other.headers['ce_id'], code: 'tool-call-mismatch', toolCallIds: ['b', 'a'] },
      });
    });

    it.each([
      ['another id', {}],
      ['the same id', { ce_id: 'r-1' }],
    ])('refuses other arguments of one call under %s, however often', async (_, headers) => {
      await send('ToolCallRequested', step(callOf('a')), { ce_id: 'r-1' });
      const other = requestMessage('ToolCallRequested', step(callOf('a', { arguments: { path: '/x' } })), headers);
      for (let times = 0; times < 3; times += 1) expect(await world.deliver(other)).toEqual(handled);
      expect(await world.types()).toEqual(['ToolCallRequested', 'ApprovalRequested', 'RequestRefused']);
      expect(await world.refusals()).toMatchObject([{ code: 'tool-call-mismatch', toolCallIds: ['a'] }]);
    });

    it('takes the same call in other words under the same id for a repeat', async () => {
      await send('ToolCallRequested', step(callOf('a', { reason: 'r' })), { ce_id: 'r-1' });
      expect(await send('ToolCallRequested', step({ reason: 'r', ...callOf('a') }), { ce_id: 'r-1' })).toEqual(handled);
      expect(await world.types()).toEqual(['ToolCallRequested', 'ApprovalRequested']);
    });

    it('names what does not fit the schema of the tool', async () => {
      const toolSchema = { type: 'object', properties: { path: { type: 'number' } } };
      await send('ToolCallRequested', step(callOf('a', { toolSchema })));
      const [refusal] = await world.refusals();
      expect(refusal).toMatchObject({ code: 'invalid-arguments' });
      expect((refusal as { detail: string }).detail).toContain('calls.0.arguments.path');
    });
  });

  describe('ApprovalRequested', () => {
    it('asks people about a call that was allowed', async () => {
      await send('ToolCallRequested', step(callOf('a', { needsApproval: false })));
      const ask = requestMessage('ApprovalRequested', { runId: 'run-1', toolCallId: 'a', reason: 'outside' });
      expect([await world.deliver(ask), await world.deliver(ask)]).toEqual([handled, handled]);
      expect(await world.types()).toEqual(['ToolCallRequested', 'ToolCallAllowed', 'ApprovalRequested']);
    });

    it('only adds reason and description while people are asked already, and once', async () => {
      await send('ToolCallRequested', step(callOf('a')));
      const ask = { runId: 'run-1', toolCallId: 'a', reason: 'outside', expiresInMs: 1 };
      expect([await send('ApprovalRequested', ask), await send('ApprovalRequested', ask)]).toEqual([handled, handled]);
      expect(await world.types()).toEqual(['ToolCallRequested', 'ApprovalRequested', 'ApprovalDescribed']);
      expect((await world.events()).at(-1)?.data).toMatchObject({ reason: 'outside', description: null });
      expect(await world.refusals()).toEqual([]);
    });

    it('comes too late for a claimed call', async () => {
      await send('ToolCallRequested', step(callOf('a', { needsApproval: false })));
      const resolver = { ...approver, principal: 'worker', roles: new Set(['resolver'] as const) };
      await claim(world.commands, resolver, deriveCallId('default', 'run-1', 'a'), { resolverId: 'w' }, 'claim-1');
      await send('ApprovalRequested', { runId: 'run-1', toolCallId: 'a' });
      expect(await world.refusals()).toMatchObject([{ code: 'already-resolved', toolCallIds: ['a'] }]);
    });

    it('asks again after the expiry as the next round of the same call, once', async () => {
      await world.close();
      const system = systemClock;
      let aheadMs = 0;
      world = await openLedgerWorld({ clock: { ...system, now: () => system.now() + aheadMs } });
      const callId = deriveCallId('default', 'run-1', 'a');
      await send('ToolCallRequested', step(callOf('a', { expiresInMs: 60_000 })));
      const ask = requestMessage('ApprovalRequested', { runId: 'run-1', toolCallId: 'a', reason: 'still wanted' });
      aheadMs = 60_001;
      await fireDue(world.commands, 'default', callId);
      expect(await world.state('a')).toBe('expired');
      expect([await world.deliver(ask), await world.deliver(ask)]).toEqual([handled, handled]);
      expect(await world.state('a')).toBe('awaiting_approval');
      const rounds = (await world.events()).filter(({ type }) => type === 'ApprovalRequested');
      expect(rounds).toMatchObject([
        { metadata: { callId }, data: { approvalId: approvalIdOf(callId, 1), round: 1 } },
        { metadata: { callId }, data: { approvalId: approvalIdOf(callId, 2), round: 2, reason: 'still wanted' } },
      ]);
      expect(await world.refusals()).toEqual([]);
    });

    it('waits a few tries for the call that it is about', async () => {
      const ask = requestMessage('ApprovalRequested', { runId: 'run-1', toolCallId: 'a' });
      await expect(world.ledger.handle(ask, { attempt: 1 })).rejects.toThrow('there is no tool call');
      await send('ToolCallRequested', step(callOf('a', { needsApproval: false })));
      await world.ledger.handle(ask, { attempt: 2 });
      expect(await world.state('a')).toBe('awaiting_approval');
      expect(await world.refusals()).toEqual([]);
    });

    it.each([
      ['ApprovalRequested', { runId: 'run-1', toolCallId: 'nobody' }],
      ['ToolCallCancelled', { runId: 'run-1', toolCallId: 'nobody', reason: 'x' }],
      ['ToolOutputSubmitted', { runId: 'run-1', toolCallId: 'nobody', status: 'succeeded', output: 1 }],
    ])('%s about a call that never comes is refused in the end', async (type, data) => {
      expect(await send(type, data)).toEqual({ ...handled, attempts: 4 });
      expect(await world.refusals()).toMatchObject([{ code: 'not-requested', toolCallIds: ['nobody'] }]);
    });
  });

  describe('ToolCallCancelled', () => {
    it('cancels one call', async () => {
      await send('ToolCallRequested', step(callOf('a'), callOf('b')));
      await send('ToolCallCancelled', { runId: 'run-1', toolCallId: 'a', reason: 'no longer' });
      expect([await world.state('a'), await world.state('b')]).toEqual(['cancelled', 'awaiting_approval']);
    });

    it('cancels all open calls of a run, and when it comes again not those requested since', async () => {
      await send('ToolCallRequested', step(callOf('a'), callOf('b'), callOf('c')));
      await answer('c', 'deny');
      const cancel = requestMessage('ToolCallCancelled', { runId: 'run-1', reason: 'the user left' });
      expect(await world.deliver(cancel)).toEqual(handled);
      await send('ToolCallRequested', step(callOf('d')));
      expect(await world.deliver(cancel)).toEqual(handled);
      const states = await Promise.all(['a', 'b', 'c', 'd'].map((id) => world.state(id)));
      expect(states).toEqual(['cancelled', 'cancelled', 'denied', 'awaiting_approval']);
      expect((await world.types()).filter((type) => type === 'RunCancelled')).toHaveLength(1);
    });

    it('completes the cancellation of a run that broke off, of the same calls', async () => {
      await send('ToolCallRequested', step(callOf('a'), callOf('b')));
      const cancel = requestMessage('ToolCallCancelled', { runId: 'run-1', reason: 'x' });
      const { append } = world.store;
      let appends = 0;
      Object.assign(world.store, {
        append: (...given: Parameters<typeof append>) => {
          appends += 1;
          if (appends === 2) world.failAppends(2);
          return append(...given);
        },
      });
      await expect(world.ledger.handle(cancel, { attempt: 1 })).rejects.toThrow('down');
      await send('ToolCallRequested', step(callOf('later')));
      expect((await world.deliver(cancel)).outcome).toBe('handled');
      const states = await Promise.all(['a', 'b', 'later'].map((id) => world.state(id)));
      expect(states).toEqual(['cancelled', 'cancelled', 'awaiting_approval']);
    });

    it('of a run without calls cancels none that is requested later, when it comes again', async () => {
      const cancel = requestMessage('ToolCallCancelled', { runId: 'run-1', reason: 'the user left' });
      await world.deliver(cancel);
      await send('ToolCallRequested', step(callOf('a')));
      expect(await world.deliver(cancel)).toEqual(handled);
      expect(await world.state('a')).toBe('awaiting_approval');
    });

    it('says which calls of a run are past cancelling', async () => {
      await send('ToolCallRequested', step(callOf('a', { needsApproval: false }), callOf('b')));
      const resolver = { ...approver, principal: 'worker', roles: new Set(['resolver'] as const) };
      const callId = deriveCallId('default', 'run-1', 'a');
      await claim(world.commands, resolver, callId, { resolverId: 'w' }, 'claim-1');
      await send('ToolCallCancelled', { runId: 'run-1', reason: 'x' });
      expect([await world.state('a'), await world.state('b')]).toEqual(['executing', 'cancelled']);
      const [refusal] = await world.refusals();
      expect(refusal).toMatchObject({ code: 'already-claimed' });
      expect((refusal as { detail: string }).detail).toContain(callId);
    });
  });

  describe('ToolOutputSubmitted', () => {
    it('records the output of a client-executed tool, after approval alone', async () => {
      await send('ToolCallRequested', step(callOf('a', { clientExecuted: true })));
      const output = { runId: 'run-1', toolCallId: 'a', status: 'succeeded', output: { ok: true } };
      await send('ToolOutputSubmitted', output);
      expect(await world.refusals()).toMatchObject([{ code: 'not-approved' }]);
      await answer('a', 'approve');
      expect(await send('ToolOutputSubmitted', output)).toEqual(handled);
      expect(await world.state('a')).toBe('succeeded');
    });
  });

  describe("another principal's call", () => {
    const agent = { ...approver, principal: 'agent', roles: new Set(['agent'] as const) };
    const about = { runId: 'run-1', toolCallId: 'a' };
    const output = { ...about, status: 'succeeded', output: 1 };

    it.each([
      ['ApprovalRequested', { ...about, description: 'Approved by the CFO already' }],
      ['ToolCallCancelled', { ...about, reason: 'x' }],
      ['ToolCallCancelled', { runId: 'run-1', reason: 'the whole run' }],
      ['ToolOutputSubmitted', output],
    ])('answers %s by a refusal, and changes nothing', async (type, data) => {
      for (const needsApproval of [true, false]) {
        const runId = `run-${needsApproval ? '1' : '2'}`;
        const call = { toolCallId: 'a', toolName: 'browse', arguments: {}, needsApproval, clientExecuted: true };
        await requestToolCalls(world.commands, agent, { runId, calls: [call] }, `request-${runId}`);
        const before = await world.state('a', runId);
        expect(await send(type, { ...data, runId })).toEqual(handled);
        expect(await world.state('a', runId)).toBe(before);
      }
      expect(await world.refusals()).toMatchObject([{ code: 'forbidden' }, { code: 'forbidden' }]);
      expect((await world.types()).filter((one) => /Described|Cancelled$|Succeeded/.test(one))).toEqual([]);
    });

    it('is in no list of a run that another principal cancels, who is told so', async () => {
      const theirs = { toolCallId: 'theirs', toolName: 'browse', arguments: {}, needsApproval: true };
      await requestToolCalls(world.commands, agent, { runId: 'run-1', calls: [theirs] }, 'request-1');
      await send('ToolCallRequested', step(callOf('own')));
      await send('ToolCallCancelled', { runId: 'run-1', reason: 'x' });
      expect([await world.state('theirs'), await world.state('own')]).toEqual(['awaiting_approval', 'cancelled']);
      const lists = (await world.events()).filter(({ type }) => type === 'RunCancelled').map(({ data }) => data);
      expect(lists).toMatchObject([{ callIds: [deriveCallId('default', 'run-1', 'own')], cancelledBy: 'kafka' }]);
      expect(await world.refusals()).toMatchObject([{ code: 'forbidden' }]);
    });

    it('answers ToolCallRequested by a refusal, and lets the laxer copy of an intruder never count', async () => {
      await send('ToolCallRequested', step(callOf('a', { needsApproval: false })));
      const wanted = { toolCallId: 'a', toolName: 'delete_file', arguments: { path: '/a' }, needsApproval: true };
      const body = { runId: 'run-1', agentId: 'kafka', calls: [wanted] };
      const owner = { ...agent, agentIds: ['*'] };
      expect(await requestToolCalls(world.commands, owner, body, 'request-1')).toMatchObject({
        refusal: { code: 'tool-call-mismatch' },
      });
    });
  });

  it('opens the approval for a repeat that asks for one', async () => {
    await send('ToolCallRequested', step(callOf('a', { needsApproval: false })));
    expect(await world.state('a')).toBe('allowed');
    expect(await send('ToolCallRequested', step(callOf('a')))).toEqual(handled);
    expect(await world.state('a')).toBe('awaiting_approval');
  });

  describe('a message that no sender may send', () => {
    it.each([
      ['ApprovalResponded', { approvalId: 'apr_x', decision: { type: 'approve' }, resolution: 'approved' }],
      ['ExecutionClaimed', {}],
      ['ToolCallAllowed', 'not even JSON {'],
      ['SomethingElse', {}],
    ])('%s changes nothing, is answered, counted and logged', async (type, data) => {
      await send('ToolCallRequested', step(callOf('a')));
      expect(await send(type, data)).toEqual(handled);
      expect(await world.state('a')).toBe('awaiting_approval');
      expect(await world.refusals()).toMatchObject([{ code: 'forbidden', toolCallIds: [] }]);
      const label = type === 'SomethingElse' ? 'other' : type;
      expect(await world.figures()).toContain(`countersign_ledger_forged_total{type="${label}"} 1`);
      expect(world.log.entries).toContainEqual(expect.objectContaining({ level: 'error' }));
      expect(JSON.stringify(world.log.entries)).not.toContain('apr_x');
    });
  });

  describe('a message without a known requester', () => {
    const body = step(callOf('a'));
    const big = { ...step(callOf('a', { arguments: { text: 'x'.repeat(300_000) } })) };
    it.each<[string, string, unknown, Record<string, string | undefined>]>([
      ['no id', 'malformed', body, { ce_id: undefined }],
      ['an id with control characters', 'malformed', body, { ce_id: 'a\nb' }],
      ['an id beyond measure', 'malformed', body, { ce_id: 'x'.repeat(257) }],
      ['no source', 'malformed', body, { ce_source: undefined }],
      ['no type', 'malformed', body, { ce_type: undefined }],
      ['another version', 'malformed', body, { ce_specversion: '0.3' }],
      ['another content type', 'malformed', body, { 'content-type': 'text/plain' }],
      ['a tombstone', 'malformed', '', {}],
      ['broken JSON', 'malformed', '{broken', {}],
      ['invalid UTF-8', 'malformed', Buffer.from([0x7b, 0xff, 0x7d]), {}],
      ['a duplicate key', 'malformed', '{"runId":"r","runId":"s","calls":[]}', {}],
      ['an integer beyond 2^53', 'malformed', JSON.stringify(body).replace('"/a"', '12345678901234567890'), {}],
      ['__proto__', 'malformed', JSON.stringify(body).replace('"path"', '"__proto__"'), {}],
      ['deep nesting', 'malformed', '['.repeat(100_000), {}],
      ['no object', 'invalid-request', '42', {}],
      ['an unknown member', 'invalid-request', { ...body, tenant: 'other' }, {}],
      ['no calls', 'invalid-request', step(), {}],
      ['null for a label', 'invalid-request', step({ ...callOf('a'), labels: { team: null } }), {}],
      ['the same call twice', 'invalid-request', step(callOf('a'), callOf('a')), {}],
      ['too many calls', 'payload-too-large', step(...Array.from({ length: 257 }, (_, n) => callOf(`c${n}`))), {}],
      ['arguments beyond measure', 'payload-too-large', big, {}],
      ['a value beyond measure', 'payload-too-large', Buffer.alloc(4 * 1024 * 1024 + 1, 0x20), {}],
    ])('%s is poison (%s): parked at the first try, and nothing recorded', async (_, code, data, headers) => {
      expect(await send('ToolCallRequested', data, headers)).toEqual({
        outcome: 'parked',
        code,
        attempts: 1,
        transient: 0,
      });
      expect(await world.types()).toEqual([]);
      expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    });

    it('takes a content type with a charset', async () => {
      const headers = { 'content-type': 'application/json; charset=utf-8' };
      expect(await send('ToolCallRequested', body, headers)).toEqual(handled);
    });
  });

  it('takes the same ce_id of two sources for two requests, and of one source for one', async () => {
    await send('ToolCallRequested', step(callOf('a', { needsApproval: false })));
    const ask = (ce_source: string) =>
      send('ApprovalRequested', { runId: 'run-1', toolCallId: 'a' }, { ce_id: 'same', ce_source });
    await ask('/one');
    await answer('a', 'deny');
    await ask('/one');
    expect(await world.refusals()).toEqual([]);
    await ask('/other');
    expect(await world.refusals()).toMatchObject([{ code: 'already-resolved' }]);
  });

  it('has the same result for any order within a run', async () => {
    const request = requestMessage('ToolCallRequested', step(callOf('a')));
    const cancel = requestMessage('ToolCallCancelled', { runId: 'run-1', toolCallId: 'a', reason: 'x' });
    await expect(world.ledger.handle(cancel, { attempt: 1 })).rejects.toThrow();
    await world.deliver(request);
    await world.deliver(cancel);
    await world.deliver(request);
    expect(await world.types()).toEqual(['ToolCallRequested', 'ApprovalRequested', 'ToolCallCancelled']);
  });
});

describe('refusals', () => {
  const bad = (n: number) => requestMessage('Nonsense', {}, { ce_id: `bad-${String(n)}` });

  it('are recorded at a bounded rate, and counted beyond it', async () => {
    const world = await openLedgerWorld({ refusalRate: { burst: 3, perSecond: 0 } });
    for (let n = 0; n < 10; n += 1) await world.deliver(bad(n));
    expect(await world.refusals()).toHaveLength(3);
    expect(await world.figures()).toContain('countersign_ledger_refusals_dropped_total 7');
    await world.deliver(requestMessage('ToolCallRequested', { runId: 'r', calls: [callOf('a')] }));
    await world.deliver(requestMessage('ToolCallRequested', { runId: 'r', calls: [callOf('a', { arguments: {} })] }));
    expect((await world.refusals()).at(-1)).toMatchObject({ code: 'tool-call-mismatch' });
    expect(await world.figures()).toContain('countersign_ledger_refusals_total{code="forbidden"} 10');
    await world.close();
  });

  it('of two ledgers at once are all recorded, each once, also when they come again', async () => {
    const world = await openLedgerWorld();
    const other = await openLedgerWorld({ store: world.store });
    const messages = Array.from({ length: 40 }, (_, n) => bad(n));
    await Promise.all(messages.map((message, n) => (n % 2 === 0 ? world : other).deliver(message)));
    // A rebalance: each now gets what the other had.
    await Promise.all(messages.map((message, n) => (n % 2 === 0 ? other : world).deliver(message)));
    const ids = (await world.refusals()).map((each) => (each as { requestId: string }).requestId);
    expect(ids.toSorted()).toEqual(messages.map(({ headers }) => String(headers['ce_id'])).toSorted());
    await other.close();
    await world.close();
  });

  it('wait while the store is down, and are recorded then', async () => {
    const world = await openLedgerWorld();
    world.failAppends(2);
    expect(await world.deliver(bad(1))).toEqual({ outcome: 'handled', attempts: 1, transient: 2 });
    expect(await world.refusals()).toHaveLength(1);
    await world.close();
  });
});
