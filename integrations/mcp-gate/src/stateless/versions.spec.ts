import { afterEach, describe, expect, it } from '@jest/globals';
import { closeVersionPlaces, openVersionPlace } from '../testing/version-place.js';

afterEach(closeVersionPlaces);

const pinned = { versionNegotiation: { mode: { pin: '2026-07-28' } } } as const;
const auto = { versionNegotiation: { mode: 'auto' } } as const;

describe.each([
  ['a stateless client', pinned, '2026-07-28'],
  ['a client of both versions', auto, '2026-07-28'],
  ['a client of sessions', {}, '2025-11-25'],
] as const)('%s', (_, options, version) => {
  it.each(['stateless', 'both'] as const)('calls a gated tool of a server that speaks: %s', async (form) => {
    const { client, ran, asked, countersign } = await openVersionPlace({}, options, form);
    expect(client.getNegotiatedProtocolVersion()).toBe(version);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['refund', 'rates']);
    const call = { name: 'refund', arguments: { amount: 5 } };
    expect(await client.callTool(call)).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(/^pending/) }],
    });
    expect(ran).toEqual([]);
    countersign.approve(asked[0]!.toolCallId);
    expect(await client.callTool(call)).toMatchObject({ content: [{ text: 'refunded 5' }] });
    expect(ran).toEqual([5]);
    expect(countersign.callOf(asked[0]!.toolCallId).state).toBe('succeeded');
  });

  it('calls a tool without a list of tools', async () => {
    const { client, ran } = await openVersionPlace({ gate: 'none' }, options);
    expect(await client.callTool({ name: 'refund', arguments: { amount: 5 } })).toMatchObject({
      content: [{ text: 'refunded 5' }],
    });
    expect(ran).toEqual([5]);
  });

  it('reads a result with structured content that is no object', async () => {
    const { client, ran } = await openVersionPlace({}, options);
    await client.listTools();
    expect(await client.callTool({ name: 'rates' })).toMatchObject({ content: [{ text: '[1,2]' }] });
    expect(ran).toEqual(['rates']);
  });
});
