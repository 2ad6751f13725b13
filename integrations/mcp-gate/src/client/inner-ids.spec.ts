import { expect, it } from '@jest/globals';
import type { JSONRPCMessage, JSONRPCRequest } from '@modelcontextprotocol/sdk/types.js';
import { createInnerIds } from './inner-ids.js';

const request = (id: number | string, progressToken?: number | string): JSONRPCRequest => ({
  ...{ jsonrpc: '2.0', id, method: 'tools/call' },
  params: { name: 'pay', ...(progressToken === undefined ? {} : { _meta: { progressToken } }) },
});
const progress = (progressToken: unknown): JSONRPCMessage => ({
  ...{ jsonrpc: '2.0', method: 'notifications/progress' },
  params: { progressToken: progressToken as number, progress: 1 },
});
const cancel = (requestId: number): JSONRPCMessage => ({
  ...{ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } },
});
const innerIdOf = (message: JSONRPCMessage | undefined) => (message as JSONRPCRequest).id;

it('gives equal ids of the client different ones, and a reply the id of its request', () => {
  const ids = createInnerIds();
  const [first, second] = [ids.fromClient(request('a')), ids.fromClient(request('a'))].map(innerIdOf);
  expect(first).not.toBe(second);
  for (const id of [second, first]) {
    expect(ids.toClient({ jsonrpc: '2.0', id: id!, result: {} })).toEqual({ jsonrpc: '2.0', id: 'a', result: {} });
    expect(ids.toClient({ jsonrpc: '2.0', id: id!, result: {} })).toBeUndefined();
  }
});

it('a cancellation is for the latest request under the id, and one of no open request is dropped', () => {
  const ids = createInnerIds();
  const [, second] = [ids.fromClient(request(7)), ids.fromClient(request(7))].map(innerIdOf);
  expect(ids.fromClient(cancel(7))).toMatchObject({ params: { requestId: second } });
  expect(ids.fromClient(cancel(7))).toBeUndefined();
  expect(ids.fromClient(cancel(8))).toBeUndefined();
});

it('passes progress on while the request is open, and of a task also after the reply', () => {
  const ids = createInnerIds();
  const [call, task] = [ids.fromClient(request(1, 'x')), ids.fromClient(request(2, 0))].map(innerIdOf);
  for (const id of [call, task]) expect(ids.toClient(progress(id))).toBeDefined();
  expect(ids.toClient(progress(String(call)))).toEqual(progress('x'));
  expect(ids.toClient(progress('x'))).toBeUndefined();
  ids.toClient({ jsonrpc: '2.0', id: call!, result: { content: [] } });
  ids.toClient({ jsonrpc: '2.0', id: task!, result: { task: { taskId: 't' } } });
  expect(ids.toClient(progress(call))).toBeUndefined();
  expect(ids.toClient(progress(task))).toEqual(progress(0));
});
