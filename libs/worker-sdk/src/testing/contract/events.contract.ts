import type { EventView } from '@countersign/contracts';
import { describe, expect, it } from '@jest/globals';
import { anyText, anyTime } from './shapes.js';
import { pathOf, type Sender, type WorkerServer } from './worker-server.js';

interface Message {
  readonly id: string;
  readonly event: string;
  readonly data: EventView;
}

const messageForm = /(?:^|\n\n)id: (.*)\nevent: (.*)\ndata: (.*)(?=\n\n)/g;

/** Reads a stream until it has this many events; then it closes it. */
async function readEvents(server: WorkerServer, query: string, count: number, headers: Record<string, string> = {}) {
  const aborter = new AbortController();
  const authorization = `Bearer ${server.token}`;
  const response = await server.fetch(`${server.url}/v1/events${query}`, {
    headers: { authorization, ...headers },
    signal: aborter.signal,
  });
  expect([response.status, response.headers.get('content-type')]).toEqual([
    200,
    expect.stringMatching(/^text\/event-stream/),
  ]);
  const found = async (): Promise<readonly Message[]> => {
    let text = '';
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk;
      const messages = [...text.matchAll(messageForm)];
      if (messages.length < count) continue;
      return messages.map(([, id = '', event = '', data = '']) => ({ id, event, data: JSON.parse(data) as EventView }));
    }
    throw new Error(`the stream ended after: ${text}`);
  };
  return { events: found().finally(() => aborter.abort()) };
}

export function describeEvents({ agent, resolver, ask, askOne, claim }: Sender, server: () => WorkerServer): void {
  const typesOf = async (call: { readonly runId: string }, count: number) => {
    const { events } = await readEvents(server(), `?after=0&runId=${call.runId}`, count);
    return (await events).map(({ event }) => event);
  };
  describe('the stream of events', () => {
    it('says of each event what it is and which call it is about, in order', async () => {
      const call = await askOne({ needsApproval: true });
      const { callId, toolCallId, toolName, agentId, runId } = call;
      const messages = await (await readEvents(server(), `?after=0&callId=${callId}`, 2)).events;
      const about = { callId, toolCallId, toolName, agentId, runId, tenant: 'default' };
      expect(messages).toEqual(
        ['ToolCallRequested', 'ApprovalRequested'].map((type, revision) => ({
          id: String(messages[revision]?.data.position),
          event: type,
          data: {
            eventId: anyText,
            type,
            position: expect.any(Number),
            ...about,
            revision,
            recordedAt: anyTime,
            actor: { kind: 'agent', id: anyText, onBehalfOf: null },
            data: expect.any(Object),
          },
        })),
      );
      expect(messages[1]?.data.position).toBeGreaterThan(messages[0]?.data.position ?? Infinity);
    });

    it('has the life of a call', async () => {
      const call = await askOne({ needsApproval: true });
      await server().respond(call, { decision: { type: 'approve' } });
      await claim(call);
      await resolver('POST', pathOf(call, '/claim/renew'), { attempt: 1, leaseMs: 120_000 });
      await resolver('POST', pathOf(call, '/outcome'), { attempt: 1, status: 'failed', error: 'no money' });
      const before = ['ToolCallRequested', 'ApprovalRequested', 'ApprovalResponded'];
      expect(await typesOf(call, 6)).toEqual([
        ...before,
        'ExecutionClaimed',
        'ExecutionClaimRenewed',
        'ExecutionFailed',
      ]);
    });

    it('has the other ends of a call', async () => {
      const lost = await askOne();
      await claim(lost, 1);
      await server().endLease(lost);
      const claimed = ['ToolCallRequested', 'ToolCallAllowed', 'ExecutionClaimed'];
      expect(await typesOf(lost, 4)).toEqual([...claimed, 'ExecutionOutcomeUnknown']);
      const lapsed = await askOne({ idempotent: true });
      await claim(lapsed, 1);
      await server().endLease(lapsed);
      expect(await typesOf(lapsed, 4)).toEqual([...claimed, 'ExecutionLapsed']);
      const late = await askOne({ needsApproval: true, expiresInMs: 1 });
      await server().expire(late);
      await agent('POST', pathOf(late, '/approvals'), {});
      await agent('POST', pathOf(late, '/cancel'), { reason: 'not needed' });
      const asked = ['ToolCallRequested', 'ApprovalRequested'];
      expect(await typesOf(late, 5)).toEqual([...asked, 'ApprovalExpired', 'ApprovalRequested', 'ToolCallCancelled']);
    });

    it('has what is live only, for a reader that asks for no more', async () => {
      const call = await askOne();
      const { events } = await readEvents(server(), `?after=now&runId=${call.runId}`, 1);
      await claim(call);
      expect((await events).map(({ event }) => event)).toEqual(['ExecutionClaimed']);
    });

    it('resumes after the last event, which wins over the query, and shows some types', async () => {
      const [call] = await ask([{ needsApproval: true }, { toolCallId: 'call-2' }]);
      const query = `?after=0&runId=${call?.runId ?? ''}`;
      const [first] = await (await readEvents(server(), query, 4)).events;
      const rest = await readEvents(server(), query, 3, { 'last-event-id': first?.id ?? '' });
      expect((await rest.events).map(({ id }) => Number(id) > Number(first?.id))).toEqual([true, true, true]);
      const some = await readEvents(server(), `${query}&types=ToolCallAllowed,ApprovalRequested`, 2);
      expect((await some.events).map(({ event }) => event)).toEqual(['ApprovalRequested', 'ToolCallAllowed']);
    });
  });
}
