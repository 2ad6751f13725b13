import { afterEach, expect, it } from '@jest/globals';
import { createFakeCountersign } from '@countersign/worker-sdk/testing';
import * as fc from 'fast-check';
import { closeHttpPlaces, openHttpPlace } from '../testing/http-place.js';
import { createLateServer } from '../testing/late-server.js';
import { objectOf } from '../wire.js';

afterEach(closeHttpPlaces);

type Members = Readonly<Record<string, unknown>>;

const runs = Number(process.env['COUNTERSIGN_TEST_MCP_ORDERS'] ?? '') || 25;

/** A request under an id of few. Its text is given when it is sent, so that no two are equal. */
interface Asked {
  readonly id: number;
  readonly kind: 'gated' | 'free' | 'prompt' | 'list';
  readonly waitMs: number;
}
type Step =
  | {
      readonly do: 'post';
      readonly asked: readonly Asked[];
      readonly cancels: readonly number[];
      readonly first: boolean;
    }
  | { readonly do: 'cancel'; readonly id: number }
  | { readonly do: 'leave'; readonly id: number }
  | { readonly do: 'pause'; readonly ms: number };

const id = fc.integer({ min: 1, max: 3 });
const asked: fc.Arbitrary<Asked> = fc.record({
  id,
  kind: fc.constantFrom('gated', 'free', 'free', 'prompt', 'list'),
  waitMs: fc.constantFrom(0, 0, 1, 5, 20),
});
const post = (requests: fc.Arbitrary<readonly Asked[]>, cancels: fc.Arbitrary<readonly number[]>) =>
  fc.record({ do: fc.constant('post' as const), asked: requests, cancels, first: fc.boolean() });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: post(fc.tuple(asked), fc.constant([])) },
  {
    weight: 2,
    arbitrary: post(
      fc.uniqueArray(asked, { minLength: 1, maxLength: 3, selector: (one) => one.id }),
      fc.uniqueArray(id, { maxLength: 2 }),
    ),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('cancel' as const), id }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('leave' as const), id }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('pause' as const), ms: fc.constantFrom(0, 1, 6) }) },
);

const json = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

/** A request that the client has sent, and what it knows about it. */
interface Sent extends Asked {
  readonly text: string;
  status: 'open' | 'cancelled' | 'left' | 'read';
}

/** The messages of a response, which is JSON or an event stream. */
function messagesOf(text: string): readonly Members[] {
  const events = text.split('\n').filter((line) => line.startsWith('data: '));
  return events.map((line) => objectOf(JSON.parse(line.slice('data: '.length))));
}

function messageOf({ id: of, kind, waitMs, text }: Sent): Members {
  const given = { arguments: { text, waitMs }, _meta: { progressToken: of } };
  const request = { jsonrpc: '2.0', id: of };
  if (kind === 'list') return { ...request, method: 'tools/list' };
  if (kind === 'prompt') return { ...request, method: 'prompts/get', params: { name: 'p', ...given } };
  return { ...request, method: 'tools/call', params: { name: kind, ...given } };
}

/** A client of one session, which checks each message that it reads. */
async function openClient(url: string) {
  let count = 0;
  let hasEnded = false;
  const requests: Sent[] = [];
  const responses: Promise<void>[] = [];
  const leaving = new Map<Sent, AbortController>();
  /** Ids that batches cancel, at once or when they have waited for an id of theirs. */
  const uncertain = new Map<Promise<void>, readonly number[]>();
  const send = (body: unknown, session?: string, signal?: AbortSignal) => {
    const headers = session === undefined ? json : { ...json, 'mcp-session-id': session };
    return fetch(url, { method: 'POST', headers, body: JSON.stringify(body), ...(signal && { signal }) });
  };
  const params = { protocolVersion: '2025-03-26', capabilities: {}, clientInfo: { name: 'spec', version: '1' } };
  const begun = await send({ jsonrpc: '2.0', id: 1, method: 'initialize', params });
  const session = begun.headers.get('mcp-session-id') ?? '';
  await begun.text();
  await send({ jsonrpc: '2.0', method: 'notifications/initialized' }, session);

  const cancellation = (requestId: number): Members => ({
    ...{ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } },
  });
  const openUnder = (of: number): Sent | undefined => requests.find((one) => one.id === of && one.status === 'open');
  /** A second request under an id of an open one may be refused, or be the one that is cancelled. */
  const giveUp = (of: number): void => {
    for (const one of requests) if (one.id === of && one.status === 'open') one.status = 'cancelled';
  };
  const read = (own: readonly Sent[], messages: readonly Members[]): void => {
    for (const message of messages) {
      const token = objectOf(message['params'])['progressToken'];
      const request = own.find((one) => one.id === (message['id'] ?? token));
      if (request === undefined) throw new Error(`a message of another response: ${JSON.stringify(message)}`);
      const { content, tools } = objectOf(message['result']);
      const said = token === undefined ? (content ?? tools) : objectOf(message['params'])['message'];
      const isInterrupted = hasEnded && ('error' in message || objectOf(message['result'])['isError'] === true);
      if (!isInterrupted) {
        expect(JSON.stringify(said)).toContain(request.kind === 'list' ? 'inputSchema' : JSON.stringify(request.text));
      }
      if (token !== undefined) continue;
      expect(request.status).not.toBe('read');
      if (request.status === 'open') request.status = 'read';
    }
  };
  const receive = async (own: readonly Sent[], mayRefuse: boolean, response: Promise<Response>): Promise<void> => {
    try {
      const { status } = await response;
      const text = await (await response).text();
      if (status === 400 && mayRefuse) {
        for (const one of own) one.status = 'cancelled';
        return;
      }
      // A request that comes after the end of its session.
      if (status === 404 && hasEnded) return;
      expect([status, status === 200 ? '' : text]).toEqual([200, '']);
      read(own, messagesOf(text));
      expect(own.filter(({ status: of }) => of === 'open')).toEqual([]);
    } catch (error) {
      if (!own.some((one) => one.status === 'left')) throw error;
    }
  };
  return {
    post: ({ asked: wanted, cancels, first }: Extract<Step, { do: 'post' }>): void => {
      const isUncertain = (of: number): boolean => [...uncertain.values()].some((ids) => ids.includes(of));
      const mayRefuse = wanted.some((one) => openUnder(one.id) !== undefined || isUncertain(one.id));
      const own = wanted.map((one): Sent => ({ ...one, text: `text ${String((count += 1))}`, status: 'open' }));
      const controller = new AbortController();
      for (const of of cancels) giveUp(of);
      requests.push(...own);
      for (const one of own) leaving.set(one, controller);
      for (const one of own) {
        if (isUncertain(one.id) || (!first && cancels.includes(one.id))) one.status = 'cancelled';
      }
      const messages = own.map(messageOf);
      const cancelling = cancels.map(cancellation);
      const all = first ? [...cancelling, ...messages] : [...messages, ...cancelling];
      const response = receive(own, mayRefuse, send(all.length === 1 ? all[0] : all, session, controller.signal));
      responses.push(response);
      uncertain.set(response, cancels);
      void response.finally(() => uncertain.delete(response)).catch(() => undefined);
    },
    cancel: async (of: number): Promise<void> => {
      giveUp(of);
      await (await send(cancellation(of), session)).text();
    },
    leave: (of: number): void => {
      const before = openUnder(of);
      const controller = before && leaving.get(before);
      for (const one of requests) {
        if (leaving.get(one) === controller && one.status === 'open') one.status = 'left';
      }
      controller?.abort();
    },
    end: () => Promise.all(responses),
    close: async () => {
      hasEnded = true;
      const { status } = await fetch(url, { method: 'DELETE', headers: { 'mcp-session-id': session } });
      expect(status).toBe(200);
    },
  };
}

it('in any order of requests, cancellations, lost responses and equal ids each reply is that to its request', async () => {
  const { fetch: ledger } = createFakeCountersign();
  const { url } = await openHttpPlace(
    { fetch: ledger, gate: 'none', ungated: { globs: ['free'], readOnly: false } },
    { openServer: () => createLateServer().wire },
  );
  const order = fc.array(step, { minLength: 1, maxLength: 14 });
  const rule = fc.asyncProperty(order, fc.boolean(), async (steps, isInterrupted) => {
    const client = await openClient(url);
    for (const one of steps) {
      if (one.do === 'post') client.post(one);
      else if (one.do === 'cancel') await client.cancel(one.id);
      else if (one.do === 'leave') client.leave(one.id);
      else await new Promise((resolve) => setTimeout(resolve, one.ms));
    }
    if (!isInterrupted) await client.end();
    await client.close();
    await client.end();
  });
  await fc.assert(rule, { numRuns: runs });
}, 600_000);
