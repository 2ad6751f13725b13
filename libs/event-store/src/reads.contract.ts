/// <reference types="jest" />
import type { JsonValue, LogEvent, NewEvent } from '@countersign/contracts';
import type { EventStore } from './event-store.js';
import { noStream } from './event-store.js';
import { readable, sampleEvent, sampleEvents, sampleStream } from './sample-events.js';

/** Reads of one stream and of the whole log. */
export function describeReads(store: () => EventStore): void {
  describe('reading', () => {
    it('finds nothing in a stream that does not exist, nor after its end', async () => {
      const stream = sampleStream();
      expect(await store().readStream(stream)).toEqual([]);
      await store().append(stream, noStream, sampleEvents(2));
      expect(await store().readStream(stream, 2)).toEqual([]);
      expect((await store().readStream(stream, 1)).map(({ revision }) => revision)).toEqual([1]);
    });

    it('gives the whole log in one order, page by page', async () => {
      const start = await store().head();
      const streams = Array.from({ length: 5 }, sampleStream);
      for (const revision of [noStream, 0]) {
        await Promise.all(streams.map((stream) => store().append(stream, revision, sampleEvents(1))));
      }
      const [all, paged]: [readonly LogEvent[], LogEvent[]] = [await store().readAll(start, 100), []];
      for (let after = start; ; after = paged.at(-1)?.position ?? start) {
        const page = await store().readAll(after, 3);
        expect(page.length).toBeLessThanOrEqual(3);
        if (page.length === 0) break;
        paged.push(...page);
      }
      expect(all).toHaveLength(10);
      expect(paged).toEqual(all);
      const positions = all.map(({ position }) => position);
      expect(positions).toEqual(positions.toSorted((a, b) => a - b));
      expect(new Set(positions).size).toBe(10);
      expect(await store().head()).toBe(positions.at(-1));
    });

    it('gives large events in the same order, in pages that may end early', async () => {
      const [start, stream] = [await store().head(), sampleStream()];
      const large = 'x'.repeat(700_000);
      for (let revision = noStream; revision < 5; revision += 1) {
        await store().append(stream, revision, [sampleEvent(`${String(revision)} ${large}`)]);
      }
      const seen: number[] = [];
      for (let after = start; after < (await store().head());) {
        const page = await store().readAll(after, 100);
        seen.push(...page.map(({ revision }) => revision));
        after = page.at(-1)?.position ?? Infinity;
      }
      expect(seen).toEqual([0, 1, 2, 3, 4, 5]);
    });

    it('brings back text and structure as they were', async () => {
      const stream = sampleStream();
      const reasons = ['', 'ünïcödé ✅ 𝕏', 'a\u0000b\\n"\u2028', 'x'.repeat(200_000)];
      await store().append(
        stream,
        noStream,
        reasons.map((reason) => sampleEvent(reason)),
      );
      const events = readable(await store().readStream(stream));
      expect(events.map(({ data }) => (data as { reason: string }).reason)).toEqual(reasons);
    });

    it('brings back a member called __proto__ as a member', async () => {
      const stream = sampleStream();
      const output = JSON.parse('{"__proto__":{"polluted":true},"deep":[[[{"a":null}]]]}') as JsonValue;
      const reported = { attempt: 1, executedBy: 'resolver', reportedBy: 'r', reportedAt: '2030-01-01T00:00:00.000Z' };
      const data = { ...reported, output } as NewEvent['data'];
      await store().append(stream, noStream, [{ ...sampleEvent(), type: 'ExecutionSucceeded', data }]);
      expect(JSON.stringify(readable(await store().readStream(stream))[0]?.data)).toBe(JSON.stringify(data));
    });
  });
}
