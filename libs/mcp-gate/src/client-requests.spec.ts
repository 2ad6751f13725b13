import { afterEach, expect, it } from '@jest/globals';
import { RootsListChangedNotificationSchema, type JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { closeGates, openPlace } from './testing/place.js';

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
  /** Resolves when the messages that the client has received are such. */
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
