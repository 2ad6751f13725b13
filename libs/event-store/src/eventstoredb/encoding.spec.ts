import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { deriveCallId } from '@countersign/contracts';
import type { NewEvent } from '@countersign/contracts';
import { sampleEvent } from '../sample-events.js';
import type { ClientEvent, ClientNewEvent } from './client.js';
import { withoutSecrets } from './connection-string.js';
import { fromClientEvent, positionOf, toClientEvents, toNumber } from './encoding.js';

const prefixes = ['toolCall-'];
const clientEvent = (event: NewEvent): ClientNewEvent => toClientEvents([event])[0] as ClientNewEvent;
const recorded = (event: NewEvent, changes: Partial<ClientEvent> = {}): ClientEvent => {
  const { id, type, data, metadata } = clientEvent(event);
  return {
    id,
    type,
    data,
    metadata: JSON.parse(new TextDecoder().decode(metadata)) as unknown,
    streamId: 'toolCall-1',
    revision: 0n,
    created: new Date(0),
    position: { commit: 1n, prepare: 1n },
    ...changes,
  };
};

describe('an event on the wire', () => {
  it('is the same JSON text after the client has parsed it', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
        const data = { ...value, ['__proto__']: undefined } as unknown as NewEvent['data'];
        const sent = clientEvent({ ...sampleEvent(), data });
        expect(JSON.stringify(sent.data)).toBe(JSON.stringify(data));
      }),
    );
  });

  it('comes back as it was', () => {
    const event = sampleEvent('ünïcödé \u2028');
    expect(fromClientEvent(recorded(event), prefixes)).toEqual({
      ...event,
      stream: 'toolCall-1',
      revision: 0,
      position: 1,
      recordedAt: '1970-01-01T00:00:00.000Z',
    });
  });

  it.each<[string, Partial<ClientEvent>]>([
    ['a stream of others', { streamId: 'orders-1' }],
    ['a system stream', { streamId: '$ce-toolCall' }],
    ['no metadata', { metadata: undefined }],
    ['metadata that are no JSON', { metadata: new Uint8Array([123]) }],
    ['metadata of others', { metadata: { tenant: 1 } }],
  ])('is not ours with %s', (_, changes) => {
    expect(fromClientEvent(recorded(sampleEvent(), changes), prefixes)).toBeUndefined();
  });

  it.each([['a text'], [new Uint8Array(2)], [null], [[1]]])('cannot be read with our metadata and data %j', (data) => {
    const read = fromClientEvent(recorded(sampleEvent(), { data }), prefixes);
    expect(read).toMatchObject({ type: 'ToolCallCancelled', unreadable: expect.stringContaining('not a JSON object') });
  });

  it('cannot be read in the stream of a call that others wrote to', () => {
    const streamId = `toolCall-${deriveCallId('default', 'run-1', 'call-1')}`;
    const read = fromClientEvent(recorded(sampleEvent(), { streamId, metadata: undefined }), prefixes);
    expect(read).toMatchObject({
      metadata: { tenant: null, callId: streamId.slice('toolCall-'.length) },
      unreadable: expect.stringContaining('not written by Countersign'),
    });
  });

  it('has a position that a number can hold, or none', () => {
    expect(toNumber(2n ** 53n - 1n)).toBe(2 ** 53 - 1);
    expect(() => toNumber(2n ** 53n)).toThrow(RangeError);
    expect(() => positionOf(recorded(sampleEvent(), { position: undefined }))).toThrow('22.6');
  });
});

it.each([
  ['esdb://admin:changeit@h1:2113,h2:2113?tls=true&userKeyFile=/key', 'esdb://h1:2113,h2:2113'],
  ['esdb+discover://a:p@ss@h', 'esdb+discover://h'],
  ['esdb://h', 'esdb://h'],
  ['nonsense', 'nonsense'],
])('a connection string without its secrets: %s', (url, shown) => {
  expect(withoutSecrets(url)).toBe(shown);
});
