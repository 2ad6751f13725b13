import type { ToolCallView } from '@countersign/contracts';
import { describe, expect, it } from '@jest/globals';
import { json, problem } from './shapes.js';
import { pathOf, type Sender, type WorkerServer } from './worker-server.js';

const flagged = { needsApproval: true };

export function describeReads({ agent, resolver, ask, askOne, claim }: Sender, server: () => WorkerServer): void {
  describe('a read', () => {
    it('shows a call as it was recorded, to agents and resolvers', async () => {
      const call = await askOne(flagged);
      expect(await agent('GET', pathOf(call))).toEqual(json(200, call));
      expect(await resolver('GET', pathOf(call))).toEqual(json(200, call));
    });

    it('shows a run: what it waits for, and its calls in their order', async () => {
      const calls = await ask([{}, { toolCallId: 'call-2', ...flagged }, { toolCallId: 'call-3' }]);
      const runId = calls[0]?.runId ?? '';
      const path = `/v1/runs/${runId}`;
      const waits = {
        stopReason: 'awaiting_approval',
        hasPendingApprovals: true,
        pendingApprovals: [calls[1]?.approval],
      };
      expect(await agent('GET', path)).toEqual(json(200, { runId, ...waits, calls }));
      await agent('POST', `${path}/cancel`, { reason: 'not needed' });
      const over = { stopReason: null, hasPendingApprovals: false, pendingApprovals: [] };
      const cancelled = calls.map(({ callId }) => expect.objectContaining({ callId, state: 'cancelled' }));
      expect(await agent('GET', path)).toEqual(json(200, { runId, ...over, calls: cancelled }));
    });

    it('tells the agent who it is', async () => {
      const me = {
        principal: 'agent',
        tenant: 'default',
        roles: ['agent'],
        groups: [],
        agentIds: ['*'],
        expiresAt: null,
      };
      const credential = expect.stringMatching(/^token:[0-9a-f]{16}$/) as unknown;
      expect(await agent('GET', '/v1/me')).toEqual(json(200, { ...me, credential }));
    });

    it.each(['/v1/tool-calls/tc_none', '/v1/runs/none', '/v1/nothing'])('finds nothing at %s', async (path) => {
      expect(await agent('GET', path)).toEqual(problem(404, 'not-found'));
    });

    it('finds no call to renew, which proves that the token may claim', async () => {
      const answer = await resolver('POST', '/v1/tool-calls/tc_none/claim/renew', { attempt: 1 });
      expect(answer).toEqual(problem(404, 'not-found'));
    });
  });

  describe('a read that waits', () => {
    it('ends with the time, and with the unchanged call, although another call changes', async () => {
      const call = await askOne(flagged);
      const reading = agent('GET', pathOf(call, '?waitMs=50'));
      await askOne();
      expect(await reading).toEqual(json(200, call));
    });

    it('ends when the call is decided, or settled', async () => {
      const call = await askOne(flagged);
      const decided = agent('GET', pathOf(call, '?waitMs=20000'));
      const settled = agent('GET', pathOf(call, '?waitMs=20000&until=settled'));
      await server().respond(call, { decision: { type: 'approve' } });
      expect(await decided).toMatchObject({ status: 200, body: { state: 'approved' } });
      await claim(call);
      await resolver('POST', pathOf(call, '/outcome'), { attempt: 1, status: 'succeeded', output: 1 });
      expect(await settled).toMatchObject({ status: 200, body: { state: 'succeeded' } });
    });
  });
}

export function describeLists({ agent, ask, claim }: Sender): void {
  const askFour = async (): Promise<readonly ToolCallView[]> => {
    const calls = await ask([
      {},
      { toolCallId: 'call-2', ...flagged },
      { toolCallId: 'call-3', toolName: 'pay' },
      { toolCallId: 'call-4' },
    ]);
    if (calls[3] !== undefined) await claim(calls[3]);
    return calls;
  };
  const list = async (call: ToolCallView | undefined, query: string) => {
    const answer = await agent('GET', `/v1/tool-calls?runId=${call?.runId ?? ''}${query}`);
    const { calls, nextCursor } = answer.body as { calls: ToolCallView[]; nextCursor: string | null };
    expect(answer).toEqual(json(200, { calls, nextCursor, position: expect.any(Number) }));
    return { ids: calls.map(({ toolCallId }) => toolCallId), nextCursor };
  };
  describe('the list of calls', () => {
    it('has the newest first, or the oldest', async () => {
      const [call] = await askFour();
      expect(await list(call, '')).toEqual({ ids: ['call-4', 'call-3', 'call-2', 'call-1'], nextCursor: null });
      const oldest = { ids: ['call-1', 'call-2', 'call-3', 'call-4'], nextCursor: null };
      expect(await list(call, '&order=oldest')).toEqual(oldest);
    });

    it.each([
      ['state=allowed,awaiting_approval', ['call-1', 'call-2', 'call-3']],
      ['state=executing', ['call-4']],
      ['toolName=pay', ['call-3']],
      ['agentId=biller&toolName=pay', ['call-3']],
      ['agentId=other', []],
    ])('shows the calls with %s', async (query, ids) => {
      const [call] = await askFour();
      expect(await list(call, `&order=oldest&${query}`)).toEqual({ ids, nextCursor: null });
    });

    it('goes on at the cursor of a page', async () => {
      const [call] = await askFour();
      const first = await list(call, '&order=oldest&limit=3');
      expect(first.ids).toEqual(['call-1', 'call-2', 'call-3']);
      const next = await list(call, `&order=oldest&limit=3&cursor=${first.nextCursor ?? ''}`);
      expect(next).toEqual({ ids: ['call-4'], nextCursor: null });
    });
  });
}
