import type { JSONRPCRequest } from '@modelcontextprotocol/sdk/types.js';
import { afterEach, describe, expect, it } from '@jest/globals';
import { closeStatelessWires, envelope, openStatelessWire, sessionServer } from '../testing/stateless-wire.js';
import { until } from '../testing/until.js';

afterEach(closeStatelessWires);

const meta = 'io.modelcontextprotocol';
const initialize = {
  ...{ jsonrpc: '2.0' as const, id: 100, method: 'initialize' },
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'spec', version: '1' } },
};

describe('a stateless client before a server of sessions', () => {
  it('learns what the server can do, without what the version does not have', async () => {
    const { ask, heard } = await openStatelessWire(sessionServer([]));
    expect(await ask('server/discover')).toMatchObject({
      result: {
        ...{ resultType: 'complete', supportedVersions: ['2026-07-28'], ttlMs: 0, cacheScope: 'private' },
        capabilities: { tools: { listChanged: true }, resources: { subscribe: true } },
        _meta: { [`${meta}/serverInfo`]: { name: 'bank', version: '1' } },
      },
    });
    expect(JSON.stringify(await ask('server/discover'))).not.toContain('"tasks"');
    expect(heard.map(({ method }) => method)).toEqual(['initialize', 'notifications/initialized']);
    expect(heard[0]?.params).toMatchObject({ protocolVersion: '2025-11-25', clientInfo: { name: 'spec' } });
  });

  it('gets lists with what the version demands', async () => {
    const { ask } = await openStatelessWire(sessionServer([]));
    const { result } = await ask('tools/list');
    expect(result).toMatchObject({ resultType: 'complete', ttlMs: 0, cacheScope: 'private' });
    expect(JSON.stringify(result)).not.toContain('taskSupport');
  });

  it.each([
    ['no version', 'tools/list', { [`${meta}/protocolVersion`]: 7 }, -32602],
    ['no capabilities', 'tools/list', { [`${meta}/clientCapabilities`]: undefined }, -32602],
    ['a method of earlier versions', 'ping', {}, -32601],
    ['a method that a server could read as tools/call', 'Tools/Call', {}, -32601],
    ['a call without a tool', 'tools/call', {}, -32602],
  ])('gets an error for a request with %s, and the server hears nothing', async (_, method, more, code) => {
    const { ask, heard } = await openStatelessWire(sessionServer([]));
    expect(await ask(method, { _meta: more })).toMatchObject({ error: { code } });
    expect(heard.map(({ method: one }) => one)).not.toContain(method);
  });

  it('hears which versions are spoken, and begins with one of them', async () => {
    const { ask, toGate, received } = await openStatelessWire(sessionServer([]));
    expect(await ask('tools/list', { _meta: envelope({}, '2099-01-01') })).toMatchObject({
      error: {
        code: -32022,
        data: { requested: '2099-01-01', supported: ['2026-07-28'] },
      },
    });
    await toGate(initialize);
    await until(() => received.some((message) => 'id' in message && message.id === 100));
    expect(received.at(-1)).toMatchObject({ result: { protocolVersion: '2025-11-25' } });
  });

  it('cannot begin a session on the same connection', async () => {
    const { ask, toGate, received } = await openStatelessWire(sessionServer([]));
    await ask('tools/list');
    await toGate(initialize);
    await until(() => received.some((message) => 'id' in message && message.id === 100));
    expect(received.at(-1)).toMatchObject({ error: { code: -32022, data: { supported: ['2026-07-28'] } } });
  });

  it.each(['prompts/get', 'tools/call'])(
    'gets progress of %s under its own token, and cancels by the id of its request',
    async (method) => {
      const server = sessionServer([]);
      const silent = (request: JSONRPCRequest) => (request.method === method ? undefined : server(request));
      const { toGate, send, heard, received } = await openStatelessWire(silent, { gate: 'none' });
      const _meta = { ...envelope(), progressToken: 'mine' };
      await toGate({ jsonrpc: '2.0', id: 'a', method, params: { name: 'x', _meta } });
      const asked = () => heard.find((request) => request.method === method);
      await until(() => asked() !== undefined);
      const progressToken = asked()?.params?._meta?.progressToken;
      expect(progressToken).not.toBe('mine');
      await send({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress: 1 } });
      expect(received.at(-1)).toMatchObject({ params: { progressToken: 'mine', progress: 1 } });
      await toGate({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'a' } });
      await until(() => heard.at(-1)?.method === 'notifications/cancelled');
      expect(heard.at(-1)?.params).toMatchObject({ requestId: asked()?.id });
    },
  );

  it('hears of a change after it has subscribed, and not before', async () => {
    const { ask, toGate, send, received, heard } = await openStatelessWire(sessionServer([]));
    const changed = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' } as const;
    await ask('tools/list');
    await send(changed);
    const notifications = { toolsListChanged: true, promptsListChanged: true, resourceSubscriptions: ['note://1'] };
    await toGate({
      jsonrpc: '2.0',
      id: 'sub',
      method: 'subscriptions/listen',
      params: { notifications, _meta: envelope() },
    });
    await until(() => received.some((message) => 'method' in message));
    await send(changed);
    await send({ jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri: 'note://1' } });
    await send({ jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri: 'note://2' } });
    const _meta = { 'io.modelcontextprotocol/subscriptionId': 'sub' };
    expect(received.filter((message) => 'method' in message)).toEqual([
      {
        ...{ jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged' },
        params: { notifications: { toolsListChanged: true, resourceSubscriptions: ['note://1'] }, _meta },
      },
      { ...changed, params: { _meta } },
      { jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri: 'note://1', _meta } },
    ]);
    await toGate({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'sub' } });
    await until(() => heard.at(-1)?.method === 'resources/unsubscribe');
  });
});

/** A client that asks for the version, gives up at once, and begins a session. */
async function openImpatient(more: object = {}) {
  const wire = await openStatelessWire(sessionServer([]));
  await wire.toGate({ jsonrpc: '2.0', id: 99, method: 'server/discover', params: { _meta: envelope() } });
  await wire.toGate({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 99 } });
  await wire.toGate({ ...initialize, params: { ...initialize.params, ...more } });
  const replyTo = (id: number) => wire.received.find((message) => 'id' in message && message.id === id);
  await until(() => replyTo(100) !== undefined);
  await wire.toGate({ jsonrpc: '2.0', id: 101, method: 'tools/list' });
  await until(() => replyTo(101) !== undefined);
  return { ...wire, replyTo };
}

describe('a client of sessions', () => {
  it.each([
    ['the same capabilities', {}, 1],
    ['other capabilities', { capabilities: { roots: {} } }, 2],
    ['an earlier version', { protocolVersion: '2025-06-18' }, 2],
  ])('begins a session with %s after it gave up its question for the version', async (_, more, sessions) => {
    const { replyTo, heard } = await openImpatient(more);
    expect(replyTo(99)).toBeUndefined();
    expect(replyTo(100)).toMatchObject({ result: { protocolVersion: '2025-11-25', serverInfo: { name: 'bank' } } });
    expect(replyTo(101)).not.toHaveProperty('result.resultType');
    expect(heard.filter(({ method }) => method === 'initialize')).toHaveLength(sessions);
  });

  it('is not told of another version on its connection, and may name one in a request', async () => {
    const { toGate, received, heard } = await openStatelessWire(sessionServer([]));
    await toGate(initialize);
    await toGate({ jsonrpc: '2.0', id: 101, method: 'server/discover', params: { _meta: envelope() } });
    await toGate({ jsonrpc: '2.0', id: 102, method: 'tools/list', params: { _meta: envelope() } });
    const replyTo = (id: number) => received.find((message) => 'id' in message && message.id === id);
    await until(() => replyTo(102) !== undefined);
    expect(replyTo(101)).toMatchObject({ error: { code: -32601 } });
    expect(replyTo(102)).not.toHaveProperty('result.resultType');
    expect(JSON.stringify(heard)).not.toContain('2026-07-28');
    expect(heard.map(({ method }) => method)).not.toContain('server/discover');
  });
});
