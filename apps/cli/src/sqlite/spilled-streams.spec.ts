import type { KnownStream } from '@countersign/audit';
import { expect, it } from '@jest/globals';
import { createSpilledStreams } from './spilled-streams.js';

it('remembers each stream as it was set last, also those that it wrote to its file', () => {
  const streams = createSpilledStreams(3);
  const knownAt = (nth: number, next: number): KnownStream => ({ next, state: { kind: 'plain' }, version: nth });
  const count = 40;
  for (let next = 1; next <= 3; next += 1) {
    for (let nth = 0; nth < count; nth += 1) {
      const name = `stream-${String(nth)}`;
      expect(streams.get(name)).toEqual(next === 1 ? undefined : knownAt(nth, next - 1));
      streams.set(name, knownAt(nth, next));
    }
  }
  expect(streams.get('another')).toBeUndefined();
  streams.close();
});
