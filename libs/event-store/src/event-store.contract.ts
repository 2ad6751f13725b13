/// <reference types="jest" />
import type { NewEvent } from '@countersign/contracts';
import type { AppendResult, EventStore } from './event-store.js';
import { EventStoreUnavailableError, noStream } from './event-store.js';
import { describeReads } from './reads.contract.js';
import { readable, sampleEvent, sampleEvents, sampleStream } from './sample-events.js';
import { skewMsMax } from './store-clock.js';
import { describeSubscriptions } from './subscription.contract.js';

/** A store under test. */
export interface OpenedEventStore {
  readonly store: EventStore;
  /** Closes the store and opens it again on the same log. */
  readonly reopen: () => Promise<EventStore>;
  /** Closes and removes what the test opened and created. */
  readonly dispose: () => Promise<void>;
}

/** The adapter's part of the suite. */
export interface EventStoreContractOptions {
  readonly name: string;
  /** Opens a store; its log may hold other events already. */
  readonly open: () => Promise<OpenedEventStore>;
}

/** Every MUST of the port, for any adapter. Call it at the top level of a spec. */
export function eventStoreContract({ name, open }: EventStoreContractOptions): void {
  describe(`the event store: ${name}`, () => {
    let opened: OpenedEventStore;
    const store = (): EventStore => opened.store;

    beforeEach(async () => {
      opened = await open();
    });
    afterEach(() => opened.dispose());

    describeAppends(store);
    describeRepeats(store);
    describeReads(store);
    describeSubscriptions(store);
    describeTime(store);
    describeClosing(store, () => opened.reopen());
  });
}

function describeTime(store: () => EventStore): void {
  describe('clock', () => {
    it('tells the time at which an event is recorded', async () => {
      const { clock, append } = store();
      expect([clock.doubt(), clock.problem()]).toEqual([undefined, undefined]);
      const before = clock.now();
      const [event] = expectCommitted(await append(sampleStream(), noStream, [sampleEvent()])).events;
      const recordedAt = Date.parse(event?.recordedAt ?? '');
      // The clocks of this machine and of the store may differ by as much as is allowed.
      expect(recordedAt).toBeGreaterThanOrEqual(before - skewMsMax);
      expect(recordedAt).toBeLessThanOrEqual(clock.now() + skewMsMax);
    });
  });
}

/** Returns the committed result, or fails the test. */
export function expectCommitted(result: AppendResult | undefined): Extract<AppendResult, { status: 'committed' }> {
  if (result?.status !== 'committed') throw new Error(`expected a commit, got ${JSON.stringify(result)}`);
  return result;
}

function idsOf(events: readonly Pick<NewEvent, 'eventId'>[]): readonly string[] {
  return events.map(({ eventId }) => eventId);
}

function describeAppends(store: () => EventStore): void {
  describe('append', () => {
    it('starts a stream at revision 0 and records what it was given', async () => {
      const stream = sampleStream();
      const event = sampleEvent();
      const result = expectCommitted(await store().append(stream, noStream, [event]));
      expect(result.revision).toBe(0);
      const [recorded] = await store().readStream(stream);
      expect(recorded).toEqual({
        ...event,
        stream,
        revision: 0,
        position: result.position,
        recordedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as unknown,
      });
      expect(result.events).toEqual([recorded]);
    });

    it('writes all events of an append, in order', async () => {
      const stream = sampleStream();
      const [first, second] = [sampleEvents(3), sampleEvents(2)];
      expect(expectCommitted(await store().append(stream, noStream, first)).revision).toBe(2);
      expect(expectCommitted(await store().append(stream, 2, second)).revision).toBe(4);
      const events = await store().readStream(stream);
      expect(idsOf(events)).toEqual(idsOf([...first, ...second]));
      expect(events.map(({ revision }) => revision)).toEqual([0, 1, 2, 3, 4]);
    });

    it.each([
      ['too low', 0],
      ['too high', 2],
      ['that of a new stream', noStream],
    ])('writes none of them when the expected revision is %s', async (_, expectedRevision) => {
      const stream = sampleStream();
      await store().append(stream, noStream, sampleEvents(2));
      const head = await store().head();
      expect(await store().append(stream, expectedRevision, sampleEvents(2))).toEqual({
        status: 'conflict',
        actualRevision: 1,
      });
      expect(await store().readStream(stream)).toHaveLength(2);
      expect(await store().head()).toBe(head);
    });

    it('does not start a stream at a later revision', async () => {
      const stream = sampleStream();
      expect(await store().append(stream, 0, sampleEvents(1))).toEqual({
        status: 'conflict',
        actualRevision: noStream,
      });
      expect(await store().readStream(stream)).toEqual([]);
    });

    it('commits exactly one of many concurrent appends with the same expected revision', async () => {
      const stream = sampleStream();
      await store().append(stream, noStream, sampleEvents(1));
      const rivals = Array.from({ length: 40 }, () => sampleEvents(2));
      const results = await Promise.all(rivals.map((events) => store().append(stream, 0, events)));
      const winner = results.findIndex(({ status }) => status === 'committed');
      expect(results.filter(({ status }) => status === 'conflict')).toHaveLength(39);
      expect(idsOf(await store().readStream(stream, 1))).toEqual(idsOf(rivals[winner] ?? []));
    });

    it('commits concurrent appends to different streams side by side', async () => {
      const streams = Array.from({ length: 60 }, sampleStream);
      const results = await Promise.all(streams.map((stream) => store().append(stream, noStream, sampleEvents(2))));
      expect(results.map((result) => expectCommitted(result).revision)).toEqual(streams.map(() => 1));
      const positions = results.flatMap((result) => expectCommitted(result).events.map(({ position }) => position));
      expect(new Set(positions).size).toBe(120);
    });

    it('does not change with the object that it was given', async () => {
      const stream = sampleStream();
      const event = sampleEvent('before');
      const appending = store().append(stream, noStream, [event]);
      (event.data as { reason: string }).reason = 'after';
      await appending;
      expect(readable(await store().readStream(stream))[0]?.data).toMatchObject({ reason: 'before' });
    });

    it.each([
      ['no events', 'a-stream', noStream, []],
      ['an impossible revision', 'a-stream', -2, sampleEvents(1)],
      ['a revision that is no whole number', 'a-stream', 0.5, sampleEvents(1)],
      ['a stream without a name', '', noStream, sampleEvents(1)],
      [
        'an event without a type',
        'a-stream',
        noStream,
        sampleEvents(1).map((event) => ({ ...event, type: '' }) as never),
      ],
    ])('refuses %s', async (_, stream, expectedRevision, events) => {
      await expect(store().append(stream, expectedRevision, events)).rejects.toThrow(RangeError);
    });
  });
}

function describeRepeats(store: () => EventStore): void {
  describe('a repeated append', () => {
    it('answers as the first one did, and writes nothing, even after the stream has grown', async () => {
      const stream = sampleStream();
      const events = sampleEvents(2);
      const first = await store().append(stream, noStream, events);
      expect(await store().append(stream, noStream, events)).toEqual(first);
      await store().append(stream, 1, sampleEvents(3));
      const head = await store().head();
      expect(await store().append(stream, noStream, events)).toEqual(first);
      expect(await store().readStream(stream)).toHaveLength(5);
      expect(await store().head()).toBe(head);
    });

    it('while the first one is on its way is that commit, or of unknown outcome until it is repeated', async () => {
      const stream = sampleStream();
      const events = sampleEvents(2);
      const results = await Promise.all([1, 2, 3].map(() => store().append(stream, noStream, events)));
      const known = results
        .filter(({ status }) => status !== 'unknown')
        .map((result) => expectCommitted(result).revision);
      expect(new Set(known)).toEqual(new Set([1]));
      expect(expectCommitted(await store().append(stream, noStream, events)).revision).toBe(1);
      expect(await store().readStream(stream)).toHaveLength(2);
    });

    it('is a conflict when only a part of it was recorded there', async () => {
      const stream = sampleStream();
      const [one, two, three] = sampleEvents(3) as [NewEvent, NewEvent, NewEvent];
      await store().append(stream, noStream, [one, two]);
      const conflict = { status: 'conflict', actualRevision: 1 };
      expect(await store().append(stream, noStream, [one, three])).toEqual(conflict);
      expect(await store().append(stream, noStream, [one, two, three])).toEqual(conflict);
      expect(await store().readStream(stream)).toHaveLength(2);
    });
  });
}

function describeClosing(store: () => EventStore, reopen: () => Promise<EventStore>): void {
  describe('closing', () => {
    it('keeps every event, and the log goes on after opening again', async () => {
      const stream = sampleStream();
      const events = sampleEvents(3);
      const before = expectCommitted(await store().append(stream, noStream, events));
      const [recorded, head] = [await store().readStream(stream), await store().head()];
      const again = await reopen();
      expect(await again.readStream(stream)).toEqual(recorded);
      expect(await again.head()).toBe(head);
      expect(await again.append(stream, noStream, events)).toEqual(before);
      expect(await again.append(stream, noStream, sampleEvents(1))).toEqual({ status: 'conflict', actualRevision: 2 });
      expect(expectCommitted(await again.append(stream, 2, sampleEvents(1))).position).toBeGreaterThan(head);
    });

    it('is healthy before, and refuses work afterwards', async () => {
      expect(store().health()).toEqual({ status: 'ok' });
      await store().close();
      await store().close();
      expect(store().health().status).toBe('unavailable');
      await expect(store().append(sampleStream(), noStream, sampleEvents(1))).rejects.toThrow(
        EventStoreUnavailableError,
      );
      await expect(store().readAll(0, 10)).rejects.toThrow(EventStoreUnavailableError);
    });
  });
}
