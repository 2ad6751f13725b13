import { afterEach, describe, expect, it } from '@jest/globals';
import { McpServer } from '@modelcontextprotocol/server';
import * as fc from 'fast-check';
import { z } from 'zod';
import { closeRawPlaces, openRawPlace, serverForms, type RawPlace } from './testing/raw-place.js';
import { envelope } from './testing/stateless-wire.js';
import { until } from './testing/until.js';
import { objectOf } from './wire.js';

afterEach(closeRawPlaces);

type Members = Readonly<Record<string, unknown>>;

const info = { capabilities: {}, clientInfo: { name: 'spec', version: '1' } };
const initialize = (id: number, protocolVersion = '2025-06-18') => ({
  ...{ id, method: 'initialize' },
  params: { protocolVersion, ...info },
});
const call = (id: number, amount: number, _meta?: Members) => ({
  ...{ id, method: 'tools/call' },
  params: { name: 'refund', arguments: { amount }, ...(_meta && { _meta }) },
});
const cancel = (requestId: number) => ({ method: 'notifications/cancelled', params: { requestId } });

const repliesTo = ({ received }: RawPlace, id: number): readonly Members[] =>
  received.filter((message) => 'id' in message && message.id === id && !('method' in message)).map(objectOf);

/** Whether a reply is the result of a refund, as a client of either version reads it. */
function isRefund(reply: Members | undefined, amount: unknown, isStateless: boolean): boolean {
  const { content, resultType } = objectOf(reply?.['result']);
  const text = JSON.stringify(content ?? null);
  return text.includes(`refunded ${String(amount)}"`) && resultType === (isStateless ? 'complete' : undefined);
}

describe.each(serverForms)('before a server of the form %s', (form) => {
  it.each([
    ['before the session begins', [], undefined],
    ['before any list', [initialize(1), { method: 'notifications/initialized' }], undefined],
    ['at once after the first message', [initialize(1)], undefined],
    ['after a notification of no session', [{ method: 'notifications/initialized' }], undefined],
    ['as the first request that names its version', [], envelope()],
    ['after the client has asked for the version twice', [discover(1), discover(2)], envelope()],
    ['after a version that is not spoken', [list(1, envelope({}, '2099-01-01'))], envelope()],
    ['after a reply to nothing', [{ id: 7, result: {} }], envelope()],
    ['of a session, under the version of no session', [initialize(1)], envelope()],
  ])('a call %s has a result that its client reads', async (_, before, meta) => {
    const place = await openRawPlace(form);
    for (const message of [...before, call(100, 5, meta)]) place.send(message);
    await until(() => repliesTo(place, 100).length > 0);
    const begins = before.some((message) => 'method' in message && message.method === 'initialize');
    const [reply] = repliesTo(place, 100);
    // A server of no sessions refuses what comes before the beginning.
    const hasRun = place.ran.length > 0;
    const isRefused = 'error' in (reply ?? {}) || objectOf(reply?.['result'])['isError'] === true;
    expect([place.ran, isRefund(reply, 5, meta !== undefined && !begins), isRefused]).toEqual([
      hasRun ? [5] : [],
      hasRun,
      !hasRun,
    ]);
  });

  it('a call at once behind the beginning has the name of the server, for its rules; one before it does not run', async () => {
    const place = await openRawPlace(form);
    for (const message of [call(1, 4), initialize(2), call(3, 5)]) place.send(message);
    await until(() => repliesTo(place, 1).length > 0 && repliesTo(place, 3).length > 0);
    expect(repliesTo(place, 1)).toMatchObject([{ error: { code: -32600 } }]);
    expect([place.ran, place.asked]).toMatchObject([[5], [{ labels: { mcpServer: 'bank' } }]]);
  });

  it.each([
    ['the same version', '2025-06-18'],
    ['another version', '2025-11-25'],
  ])('a second beginning with %s costs no call its result', async (_, version) => {
    const place = await openRawPlace(form);
    for (const message of [initialize(1), call(2, 5), initialize(3, version), call(4, 6), list(5)]) place.send(message);
    await until(() => [1, 2, 3, 4, 5].every((id) => repliesTo(place, id).length > 0));
    expect([isRefund(repliesTo(place, 2)[0], 5, false), isRefund(repliesTo(place, 4)[0], 6, false)]).toEqual([
      place.ran.includes(5),
      place.ran.includes(6),
    ]);
    expect(place.ran.toSorted()).toEqual([5, 6]);
  });
});

it('a second beginning leaves the result of a call that runs to the client', async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<undefined>();
  const slowBank = (ran: unknown[]) => () => {
    const server = new McpServer({ name: 'bank', version: '1' });
    server.registerTool('refund', { inputSchema: z.object({ amount: z.number() }) }, async ({ amount }) => {
      ran.push(amount);
      await released;
      return { content: [{ type: 'text', text: `refunded ${String(amount)}` }] };
    });
    return server;
  };
  const place = await openRawPlace('stateless', {}, slowBank);
  for (const message of [initialize(1), call(2, 5)]) place.send(message);
  await until(() => place.ran.length > 0);
  place.send(initialize(3, '2025-11-25'));
  await until(() => repliesTo(place, 3).length > 0);
  release(undefined);
  await until(() => repliesTo(place, 2).length > 0);
  expect(isRefund(repliesTo(place, 2)[0], 5, false)).toBe(true);
});

function discover(id: number) {
  return { id, method: 'server/discover', params: { _meta: envelope() } };
}

function list(id: number, _meta?: Members) {
  return { id, method: 'tools/list', ...(_meta && { params: { _meta } }) };
}

describe('an id that is in use', () => {
  const beginnings = [
    ['a session', [initialize(50)], undefined],
    ['no session', [list(50, envelope())], envelope()],
  ] as const;

  it.each(beginnings)('of %s: the same request again has one reply, and runs once', async (_, before, meta) => {
    const place = await openRawPlace('both');
    for (const message of [...before, call(1, 5, meta), call(1, 5, meta), list(2, meta)]) place.send(message);
    await until(() => repliesTo(place, 1).length > 0 && repliesTo(place, 2).length > 0);
    place.send(list(3, meta));
    await until(() => repliesTo(place, 3).length > 0);
    expect(place.ran).toEqual([5]);
    expect(repliesTo(place, 1).map((reply) => isRefund(reply, 5, meta !== undefined))).toEqual([true]);
  });

  it.each(beginnings)(
    'of %s: another request under it has an error, and the first is given up',
    async (_, before, meta) => {
      const place = await openRawPlace('both', { gate: 'writes', holdMs: 600_000 });
      for (const message of [...before, call(1, 5, meta)]) place.send(message);
      await until(() => place.asked.length > 0);
      place.send(call(1, 6, meta));
      await until(() => repliesTo(place, 1).length > 0);
      place.countersign.approve(place.asked[0]?.toolCallId ?? '');
      place.send(call(2, 5, meta));
      await until(() => repliesTo(place, 2).length > 0);
      expect(place.ran).toEqual([5]);
      expect(isRefund(repliesTo(place, 2)[0], 5, meta !== undefined)).toBe(true);
      expect(repliesTo(place, 1)).toEqual([
        expect.objectContaining({ error: { code: -32600, message: expect.stringMatching(/^The id 1 is in use/) } }),
      ]);
    },
  );

  it.each(beginnings)(
    'of %s may be used again after the reply, and after the cancellation',
    async (_, before, meta) => {
      const place = await openRawPlace('both');
      for (const message of [...before, cancel(1), call(1, 5, meta)]) place.send(message);
      await until(() => repliesTo(place, 1).length === 1);
      place.send(call(1, 6, meta));
      await until(() => repliesTo(place, 1).length === 2);
      expect(repliesTo(place, 1).map((reply, index) => isRefund(reply, [5, 6][index], meta !== undefined))).toEqual([
        true,
        true,
      ]);
    },
  );
});

it.each(serverForms)(
  'an id that is used again at once after a cancellation has its reply, from a server of the form %s',
  async (form) => {
    const place = await openRawPlace(form);
    for (const message of [initialize(1), list(2)]) place.send(message);
    await until(() => repliesTo(place, 2).length > 0);
    for (const message of [call(3, 5), cancel(3), list(3)]) place.send(message);
    await until(() => repliesTo(place, 3).length > 0);
    expect(repliesTo(place, 3)).toMatchObject([{ result: { tools: expect.any(Array) } }]);
  },
);

/** A message of any kind, under one of few ids. */
const anyMessage = (amount: number): fc.Arbitrary<Members> => {
  const id = fc.integer({ min: 1, max: 3 });
  const meta = fc.constantFrom<Members | undefined>(undefined, envelope(), envelope(), envelope({}, '2099-01-01'), {
    'io.modelcontextprotocol/protocolVersion': 7,
  });
  const asked = fc.tuple(id, meta);
  return fc.oneof(
    { weight: 4, arbitrary: asked.map(([of, given]) => call(of, amount, given)) },
    { weight: 2, arbitrary: asked.map(([of, given]) => list(of, given)) },
    {
      weight: 2,
      arbitrary: fc
        .tuple(id, fc.constantFrom('2025-06-18', '2025-11-25', '2026-07-28', 'none'))
        .map(([of, version]) => initialize(of, version)),
    },
    id.map(discover),
    id.map((of) => ({ id: of, method: 'ping' })),
    id.map(cancel),
    id.map((of) => ({ id: of, result: {} })),
    meta.map((given) => ({ method: 'notifications/initialized', ...(given && { params: { _meta: given } }) })),
    fc.constant({ method: 'tools/call', params: { name: 'refund', arguments: { amount } } }),
  );
};

const pauses = [
  () => undefined,
  () => new Promise((resolve) => setImmediate(resolve)),
  () => new Promise((resolve) => setTimeout(resolve, 3)),
];
const anyOrder = fc
  .integer({ min: 1, max: 14 })
  .chain((length) =>
    fc.tuple(...Array.from({ length }, (_, index) => fc.tuple(anyMessage(index), fc.nat(pauses.length - 1)))),
  );

/** What a client makes of the messages: one request under an id at a time, and one reply to each. */
function readBy(onWire: RawPlace['onWire']) {
  const open = new Map<unknown, Members>();
  const unread: Members[] = [];
  const read: (readonly [request: Members, reply: Members])[] = [];
  const givenUp: Members[] = [];
  for (const { isReply, message } of onWire) {
    const { id, method, params } = message;
    const cancelled = method === 'notifications/cancelled' ? objectOf(params)['requestId'] : undefined;
    const before = open.get(isReply || method !== undefined ? (cancelled ?? id) : undefined);
    if (cancelled !== undefined) {
      if (before !== undefined) givenUp.push(before);
      open.delete(cancelled);
    } else if (isReply && before === undefined) unread.push(message);
    else if (isReply && before !== undefined) {
      open.delete(id);
      read.push([before, message]);
    } else if (method !== undefined && id !== undefined) {
      if (before !== undefined && JSON.stringify(before) === JSON.stringify(message)) continue;
      if (before !== undefined) givenUp.push(before, message);
      open.set(id, message);
    }
  }
  return { isDone: open.size === 0, unread, read, givenUp };
}

const amountOf = ({ params }: Members): unknown => objectOf(objectOf(params)['arguments'])['amount'];
const namesIt = ({ params }: Members): boolean =>
  objectOf(objectOf(params)['_meta'])['io.modelcontextprotocol/protocolVersion'] === '2026-07-28';

describe('in any order of messages', () => {
  it.each(serverForms)(
    'each request has one reply, and each run a result that its client reads: server %s',
    async (form) => {
      const rule = fc.asyncProperty(anyOrder, async (order) => {
        const place = await openRawPlace(form);
        for (const [message, pause] of order) {
          place.send(message);
          await pauses[pause]?.();
        }
        await until(() => readBy(place.onWire).isDone);
        const { unread, read, givenUp } = readBy(place.onWire);
        expect(unread).toEqual([]);
        for (const amount of place.ran) {
          const [request, reply] = read.find(([asked]) => amountOf(asked) === amount) ?? [];
          if (givenUp.some((one) => amountOf(one) === amount)) continue;
          const isStateless = request !== undefined && namesIt(request) && 'resultType' in objectOf(reply?.['result']);
          expect([amount, reply, isRefund(reply, amount, isStateless)]).toEqual([amount, reply, true]);
        }
        await closeRawPlaces();
      });
      await fc.assert(rule, { numRuns: 40 });
    },
  );
});
