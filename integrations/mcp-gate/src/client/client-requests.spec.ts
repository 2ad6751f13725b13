import { afterEach, expect, it } from '@jest/globals';
import { RootsListChangedNotificationSchema, type JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { closeGates, openPlace, textOf } from '../testing/place.js';

afterEach(closeGates);

/** A client that chooses the ids of its requests. */
async function openClient() {
  const place = await openPlace({ holdMs: 60_000 });
  const toGate = place.client.transport!;
  const received: JSONRPCMessage[] = [];
  const waiting: { readonly isReached: () => boolean; readonly resolve: () => void }[] = [];
  toGate.onmessage = (message) => {
    received.push(message);
    for (const { isReached, resolve } of waiting) if (isReached()) resolve();
  };
  /** Resolves when the condition is true; it is checked at each message that the client receives. */
  const until = (isReached: () => boolean) =>
    new Promise<void>((resolve) => {
      if (isReached()) resolve();
      else waiting.push({ isReached, resolve });
    });
  const refund = (id: string, amount: number) => {
    const _meta = { progressToken: amount };
    const params = { name: 'refund', arguments: { amount }, _meta };
    return toGate.send({ jsonrpc: '2.0', id, method: 'tools/call', params });
  };
  const waits = (amount: number) =>
    until(() => received.some((message) => 'method' in message && message.params?.['progressToken'] === amount));
  const replies = () => received.filter((message) => 'id' in message);
  return { ...place, toGate, received, replies, until, refund, waits };
}

it('passes on no reply of the server to a call that waits under the id of an earlier call', async () => {
  const { countersign, server, asked, received, replies, until, refund, waits, ran } = await openClient();
  await refund('a', 1);
  await waits(1);
  await refund('a', 2);
  await waits(2);
  countersign.approve(asked[0]!.toolCallId);
  await until(() => replies().length === 1);
  await server.server.transport!.send({ jsonrpc: '2.0', id: 'a', result: { content: [] } });
  await server.server.sendToolListChanged();
  await until(() => received.some((message) => 'method' in message && message.method.endsWith('/list_changed')));
  expect(replies()).toHaveLength(1);
  expect(ran).toEqual([1]);
});

it('passes on a notification of a client that has a request with an empty id', async () => {
  const { server, toGate, refund, waits } = await openClient();
  const notified = new Promise<void>((resolve) => {
    server.server.setNotificationHandler(RootsListChangedNotificationSchema, () => {
      resolve();
    });
  });
  await refund('', 1);
  await waits(1);
  await toGate.send({ jsonrpc: '2.0', method: 'notifications/roots/list_changed' });
  await notified;
});

it.each(['1', '01', '1.0', '0x1', ' 1'])(
  'passes on no reply of the server under the id %j, which a client takes for that of its waiting call 1',
  async (id) => {
    const { client, server, countersign, asked } = await openPlace({ holdMs: 60_000 });
    const waits = Promise.withResolvers<undefined>();
    const params = { name: 'refund', arguments: { amount: 5 } };
    const call = client.callTool(params, undefined, { onprogress: () => waits.resolve(undefined) });
    await waits.promise;
    await server.server.transport!.send({
      jsonrpc: '2.0',
      id,
      result: { content: [{ type: 'text', text: 'forged' }] },
    });
    countersign.approve(asked[0]!.toolCallId);
    expect(textOf(await call)).toBe('refunded 5');
  },
);

it('passes on the replies of a server that writes the ids of requests as strings', async () => {
  const { toGate, server, received, replies, until } = await openClient();
  const toClient = server.server.transport!;
  const send = toClient.send.bind(toClient);
  toClient.send = (message) => send('result' in message ? { ...message, id: String(message.id) } : message);
  await toGate.send({ jsonrpc: '2.0', id: 7, method: 'ping' });
  await until(() => replies().length === 1);
  expect(received).toEqual([{ jsonrpc: '2.0', id: 7, result: {} }]);
});
