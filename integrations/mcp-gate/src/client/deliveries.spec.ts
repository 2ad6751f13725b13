import { afterEach, expect, it } from '@jest/globals';
import { createFakeCountersign } from '@countersign/worker-sdk/testing';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { GateOptions } from '../calls/gate-options.js';
import { closeHttpPlaces, openHttpPlace } from '../testing/http-place.js';
import { until } from '../testing/until.js';

afterEach(closeHttpPlaces);

const json = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

/** A session over HTTP before a server with the tool `pay`, which runs until it is told to end. */
async function open(more: Partial<GateOptions> = {}) {
  const countersign = createFakeCountersign();
  const asked: string[] = [];
  const record: typeof fetch = async (input, init) => {
    const { calls = [] } = (typeof init?.body === 'string' ? JSON.parse(init.body) : {}) as {
      calls?: { toolCallId: string }[];
    };
    asked.push(...calls.map(({ toolCallId }) => toolCallId));
    return countersign.fetch(input, init);
  };
  const running: (() => void)[] = [];
  let text = 'paid';
  const [wire, ofServer] = InMemoryTransport.createLinkedPair();
  const server = new McpServer({ name: 'bank', version: '1' });
  server.registerTool('pay', {}, async () => {
    await new Promise<void>((resolve) => running.push(resolve));
    return { content: [{ type: 'text', text }] };
  });
  void server.connect(ofServer);
  const gate = await openHttpPlace({ fetch: record, gate: 'none', ...more }, { openServer: () => wire });
  let ids = 0;
  const post = (request: object, sessionId?: string, signal?: AbortSignal) => {
    const headers = sessionId === undefined ? json : { ...json, 'mcp-session-id': sessionId };
    const body = JSON.stringify({ jsonrpc: '2.0', id: (ids += 1), ...request });
    return fetch(gate.url, { method: 'POST', headers, body, ...(signal === undefined ? {} : { signal }) });
  };
  const clientInfo = { name: 'spec', version: '1' };
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };
  const begun = await post({ method: 'initialize', params });
  await begun.text();
  const sessionId = begun.headers.get('mcp-session-id') ?? '';
  const pay = async (signal?: AbortSignal) =>
    (await post({ method: 'tools/call', params: { name: 'pay' } }, sessionId, signal)).text();
  /** Sends the call, and drops the request when `isSo`. Resolves when the gate has noticed. */
  const dropped = async (isSo: () => boolean) => {
    const dropping = new AbortController();
    const sent = pay(dropping.signal).catch((error: unknown) => error);
    await until(isSo);
    dropping.abort(new Error('dropped'));
    expect(await sent).toEqual(new Error('dropped'));
    await new Promise((resolve) => setTimeout(resolve, 50));
  };
  const end = (): void => {
    for (const resolve of running) resolve();
  };
  const setText = (changed: string): void => {
    text = changed;
  };
  return { gate, countersign, asked, running, pay, dropped, end, setText };
}

it('gives the result of a call whose request was dropped to the same call, which does not run again', async () => {
  const { running, pay, dropped, end } = await open();
  await dropped(() => running.length === 1);
  end();
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(await pay()).toContain('paid');
  expect(running).toHaveLength(1);
});

it('lets the same call join one whose request was dropped and whose tool still runs', async () => {
  const { running, pay, dropped, end } = await open();
  await dropped(() => running.length === 1);
  const again = pay();
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(running).toHaveLength(1);
  end();
  expect(await again).toContain('paid');
  expect(running).toHaveLength(1);
});

it('asks people once about a call whose held request was dropped and sent again', async () => {
  const { countersign, asked, running, pay, dropped, end } = await open({ gate: 'all', holdMs: 30_000 });
  await dropped(() => asked.length > 0);
  const again = pay();
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(new Set(asked).size).toBe(1);
  countersign.approve(asked[0]!);
  await until(() => running.length > 0);
  end();
  expect(await again).toContain('paid');
  expect(running).toHaveLength(1);
});

it('does not ask again about a call that was approved after its held request was dropped', async () => {
  const { countersign, asked, running, pay, dropped, end } = await open({ gate: 'all', holdMs: 30_000 });
  await dropped(() => asked.length > 0);
  countersign.approve(asked[0]!);
  await until(() => running.length > 0);
  end();
  expect(await pay()).toContain('paid');
  expect([running.length, new Set(asked).size]).toEqual([1, 1]);
});

it('gives a large result once more when the client dropped its request before it had all of it', async () => {
  const { running, pay, dropped, end, setText } = await open();
  setText('x'.repeat(500_000));
  await dropped(() => {
    end();
    return running.length === 1;
  });
  expect(await pay()).toContain('xxx');
  expect(running).toHaveLength(1);
});

it('takes an equal call after the result for another call', async () => {
  const { running, pay, end } = await open();
  for (const runs of [1, 2, 3]) {
    const paid = pay();
    await until(() => running.length === runs);
    end();
    expect(await paid).toContain('paid');
  }
});

it('does not give an old result to the next call when the report of a dropped request was slow', async () => {
  let slow: Promise<undefined> | undefined;
  const countersign = createFakeCountersign();
  const { running, pay, dropped, end } = await open({
    fetch: async (input, init) => {
      const response = await countersign.fetch(input, init);
      if (typeof init?.body === 'string' && init.body.includes('"output"')) await slow;
      return response;
    },
  });
  await dropped(() => running.length === 1);
  const isReported = Promise.withResolvers<undefined>();
  slow = isReported.promise;
  const again = pay();
  await new Promise((resolve) => setTimeout(resolve, 100));
  end();
  expect(await again).toContain('paid');
  isReported.resolve(undefined);
  await new Promise((resolve) => setTimeout(resolve, 50));
  slow = undefined;
  const next = pay();
  await until(() => running.length === 2);
  end();
  expect(await next).toContain('paid');
});

it('says of a held call that the gate was stopped', async () => {
  const { gate, pay, asked } = await open({ gate: 'all', holdMs: 30_000 });
  const held = pay();
  await until(() => asked.length > 0);
  void gate.close();
  expect(await held).toContain('The tool did not run: the gate was stopped. Begin a new session, and call again.');
});
