import { expect, it } from '@jest/globals';
import { boundedPage, bytesOf } from './bounded-page.js';
import type { ClientEvent } from './client.js';

function eventOf(data: unknown): ClientEvent {
  const place = { id: 'e', type: 'T', streamId: 's', revision: 0n, created: new Date(0), position: undefined };
  return { ...place, data, metadata: { box: 'y'.repeat(100) } };
}

async function* readOf(count: number, taken: number[]): AsyncGenerator<ClientEvent, void> {
  for (let at = 0; at < count; at += 1) {
    taken.push(at);
    yield eventOf({ text: 'x'.repeat(1000) });
  }
}

it('a page ends with the event that reaches its bytes, and no more of the read is taken', async () => {
  const taken: number[] = [];
  let ended = 0;
  const page = await boundedPage(readOf(10, taken), 3000, () => (ended += 1));
  expect([page.events.length, page.isCut, taken, ended]).toEqual([3, true, [0, 1, 2], 1]);
});

it('a page whose events have fewer bytes is whole', async () => {
  expect(await boundedPage(readOf(10, []), 1e6)).toMatchObject({ isCut: false, events: { length: 10 } });
});

it('weighs what other applications write: bytes, deep lists, and metadata', () => {
  const deep = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`) as unknown;
  expect(bytesOf(eventOf(deep))).toBeGreaterThan(100_000);
  expect(bytesOf(eventOf(new Uint8Array(5000)))).toBeGreaterThan(5100);
  expect(bytesOf(eventOf(null))).toBeGreaterThan(100);
});
