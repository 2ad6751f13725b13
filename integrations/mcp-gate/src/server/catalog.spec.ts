import { afterEach, describe, expect, it } from '@jest/globals';
import { ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { createCatalog } from './catalog.js';
import type { GateOptions } from '../calls/gate-options.js';
import { closeGates, openPlace, textOf } from '../testing/place.js';

afterEach(closeGates);

const read = { name: 'read', inputSchema: { type: 'object' as const }, annotations: { readOnlyHint: true } };

/** A gate before a server that lists its tools as told. */
async function open(list: () => unknown, more: Partial<GateOptions> = {}) {
  const place = await openPlace(more);
  place.server.server.setRequestHandler(ListToolsRequestSchema, () => list() as { tools: never[] });
  const call = (name: string) => place.client.callTool({ name });
  return { ...place, call };
}

describe('a malformed entry of the list of tools', () => {
  it.each([
    ['without a name', { inputSchema: {} }],
    ['that is no object', null],
  ])('%s does not keep the other tools from running', async (_, entry) => {
    const { call, ran } = await open(() => ({ tools: [entry, { ...read, name: 'balance' }] }));
    expect(await call('balance')).toMatchObject({ structuredContent: { euros: 7 } });
    expect(ran).toEqual(['balance']);
  });

  it('counts as not listed, so a person must decide about its tool', async () => {
    const { call } = await open(() => ({
      tools: [
        { ...read, name: 5 },
        { ...read, name: 'balance' },
      ],
    }));
    expect(textOf(await call('5'))).toMatch(/^pending/);
  });
});

it.each([true, false])('a tool that is listed twice, first as read-only: %j, needs a person', async (isFirst) => {
  const entries = [isFirst, !isFirst].map((readOnlyHint) => ({
    ...read,
    name: 'balance',
    annotations: { readOnlyHint },
  }));
  const { call } = await open(() => ({ tools: entries }));
  expect(textOf(await call('balance'))).toMatch(/^pending/);
});

it('a result without tools is an error in words', async () => {
  const { call } = await open(() => ({ tools: 'none' }));
  expect(textOf(await call('balance'))).toMatch(/did not run: .*did not list its tools: its result has no array/);
});

describe('a server that does not answer `tools/list`', () => {
  const never = () => new Promise(() => undefined);

  it('is waited for until the limit, and asked again at the next call', async () => {
    let hangs = true;
    const { call } = await open(() => (hangs ? never() : { tools: [{ ...read, name: 'balance' }] }), { listMs: 50 });
    expect(textOf(await call('balance'))).toMatch(/the MCP server did not list its tools within 0.05 s/);
    hangs = false;
    expect(await call('balance')).toMatchObject({ structuredContent: { euros: 7 } });
  });

  it('does not keep a call waiting that the client has cancelled', async () => {
    const request = { reply: new Promise<never>(() => undefined), cancel: () => undefined };
    const requests = { send: () => request, take: () => false, lose: () => undefined, makesTasks: () => false };
    const catalog = createCatalog(requests, 100);
    const cancelling = new AbortController();
    const found = catalog.find('balance', cancelling.signal);
    cancelling.abort(new Error('cancelled'));
    await expect(found).rejects.toThrow('cancelled');
    await expect(catalog.find('balance')).rejects.toThrow('within 0.1 s');
  });
});

it('a stricter annotation that the client has seen counts at once', async () => {
  let isReadOnly = true;
  const tools = () => ({ tools: [{ ...read, name: 'balance', annotations: { readOnlyHint: isReadOnly } }] });
  const { client, call } = await open(tools);
  expect(await call('balance')).toMatchObject({ structuredContent: { euros: 7 } });
  isReadOnly = false;
  await client.listTools();
  expect(textOf(await call('balance'))).toMatch(/^pending/);
});
