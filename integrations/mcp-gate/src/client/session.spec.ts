import { describe, expect, it } from '@jest/globals';
import { createSession } from './session.js';

it('has a whole text as the name of a server, also when it is cut inside a character', () => {
  const session = createSession({});
  session.fromClient({ jsonrpc: '2.0', id: 1, method: 'initialize', params: {} });
  const serverInfo = { name: `${'x'.repeat(255)}😀`, version: '1' };
  session.fromServer({ jsonrpc: '2.0', id: 1, result: { serverInfo } });
  expect(session.labels()).toEqual({ mcpServer: `${'x'.repeat(255)}\ufffd` });
});

describe('a request of the client', () => {
  const request = (id: number) => ({ jsonrpc: '2.0' as const, id, method: 'resources/read' });
  const cancel = (requestId: number) => ({
    ...{ jsonrpc: '2.0' as const, method: 'notifications/cancelled' },
    params: { requestId },
  });

  it('that the client cancels is not kept for a reply that may never come', async () => {
    const session = createSession({});
    for (const id of [1, 2]) session.fromClient(request(id));
    session.fromClient(cancel(1));
    await Promise.resolve();
    expect(session.openIds()).toEqual([2]);
  });

  it('whose response is open has a late reply, and no more requests of the server after the client cancelled it', async () => {
    const closed = Promise.withResolvers<boolean>();
    const session = createSession({}, { of: () => closed.promise, hasStream: () => false });
    for (const id of [1, 2]) session.fromClient(request(id));
    session.fromClient(cancel(2));
    await Promise.resolve();
    expect(session.isOpen(2)).toBe(true);
    expect(session.relatedTo({ jsonrpc: '2.0', id: 'a', method: 'ping' })).toEqual({ relatedRequestId: 1 });
    closed.resolve(false);
    await Promise.resolve();
    await Promise.resolve();
    expect(session.openIds()).toEqual([]);
  });

  it('carries a request of the server when it calls a tool, also when it is not the latest', () => {
    const session = createSession({}, { of: () => new Promise(() => undefined), hasStream: () => true });
    const ping = { jsonrpc: '2.0' as const, id: 'a', method: 'ping' };
    session.fromClient(request(1));
    expect(session.relatedTo(ping)).toEqual({});
    session.fromClient({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'pay' } });
    session.fromClient(request(3));
    expect(session.relatedTo(ping)).toEqual({ relatedRequestId: 2 });
  });
});
