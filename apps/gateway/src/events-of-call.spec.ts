import { setImmediate as turn } from 'node:timers/promises';
import { deliveryStream, toolCallStream } from '@countersign/contracts';
import type { RecordedEvent } from '@countersign/contracts';
import { sampleEvents } from '@countersign/event-store/testing';
import type { Applied } from '@countersign/read-model';
import { createCollectingLog, createVirtualClock } from '@countersign/runtime/testing';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createEventFeed } from './event-feed.js';
import { createQuota } from './limits/quota.js';
import { actorOf } from './testing/world.js';

const callId = `tc_${'a'.repeat(26)}`;
const otherId = `tc_${'b'.repeat(26)}`;
const approvalId = (round: number): string => `apr_${'a'.repeat(26)}_${String(round)}`;

const isProved = (): Promise<boolean> => Promise.resolve(true);

/** The events that a test appends next. */
const kinds = ['own', 'asked', 'sent', 'sent without an approval', 'other'] as const;
type Kind = (typeof kinds)[number];

/** An in-memory log, and a read model that applies it on command. */
function createWorld() {
  const events: RecordedEvent[] = [];
  let applied = 0;
  let rounds = 0;
  let scans = 0;
  let listener: (applied: Applied) => void = () => undefined;
  const [sample] = sampleEvents(1);
  if (sample === undefined) throw new Error('no sample');
  const put = (stream: string, of: string | null, type: string, data: object): void => {
    const metadata = { ...sample.metadata, tenant: 'default', callId: of };
    const position = events.length + 1;
    const revision = events.filter((event) => event.stream === stream).length;
    const recorded = { ...sample, type, data, metadata, stream, revision, position };
    events.push({ ...recorded, recordedAt: '2030-01-01T00:00:00.000Z' } as RecordedEvent);
  };
  const record: Readonly<Record<Kind, () => void>> = {
    own: () => put(toolCallStream(callId), callId, 'ExecutionClaimed', {}),
    asked: () => {
      rounds += 1;
      put(toolCallStream(callId), callId, 'ApprovalRequested', { approvalId: approvalId(rounds) });
    },
    sent: () => {
      if (rounds === 0) return;
      const stream = deliveryStream({ approvalId: approvalId(rounds), callId });
      put(stream, callId, 'NotificationDelivered', {});
    },
    'sent without an approval': () =>
      put(deliveryStream({ approvalId: null, callId }), callId, 'NotificationDelivered', {}),
    other: () => put(toolCallStream(otherId), otherId, 'ExecutionClaimed', {}),
  };
  const ports = {
    clock: createVirtualClock(),
    log: createCollectingLog(),
    readModel: {
      checkpoint: () => applied,
      onApplied: (fn: typeof listener) => {
        listener = fn;
        return () => undefined;
      },
      toolCall: () => undefined,
      places: { upTo: (position: number) => position },
    },
    store: {
      readAll: () => {
        scans += 1;
        return Promise.reject(new Error('the whole log is not read for one call'));
      },
      readStream: async (stream: string) => {
        // Events that are recorded while the streams are read one after another must be neither lost nor sent twice.
        await turn();
        return events.filter((event) => event.stream === stream);
      },
    },
    quota: createQuota(10, 'event streams'),
    tokens: {},
  } as unknown as Parameters<typeof createEventFeed>[0];
  return {
    ports,
    events,
    scans: () => scans,
    record: (kind: Kind) => {
      record[kind]();
    },
    apply: (count: number) => {
      const from = applied;
      applied = Math.min(events.length, applied + count);
      if (applied > from) listener({ events: events.slice(from, applied), callIds: [], position: applied });
    },
  };
}

/** A socket that accepts this many writes before it is full, until it is drained. */
function createSocket(roomFor: number) {
  const ids: number[] = [];
  const texts: string[] = [];
  let room = roomFor;
  let drain: (() => void) | undefined;
  return {
    ids,
    texts,
    drain: () => {
      room = roomFor;
      const resume = drain;
      drain = undefined;
      resume?.();
    },
    sink: {
      write: (text: string) => {
        texts.push(text);
        const [, id] = /^id: (\d+)\nevent/.exec(text) ?? [];
        if (id !== undefined) ids.push(Number(id));
        room -= 1;
        return room > 0;
      },
      onDrain: (fn: () => void) => (drain = fn),
      onClose: () => undefined,
      end: () => undefined,
    },
  };
}

const step = fc.oneof(
  fc.record({ do: fc.constant('record' as const), kind: fc.constantFrom(...kinds) }),
  fc.record({ do: fc.constant('apply' as const), count: fc.integer({ min: 1, max: 5 }) }),
  fc.record({ do: fc.constant('turn' as const) }),
  fc.record({ do: fc.constant('drain' as const) }),
);

describe('a stream of the events of one call', () => {
  it('has each event once, in the order of the log, also when more are appended while it reads, and never reads the whole log', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom(...kinds), { maxLength: 12 }),
        fc.array(step, { maxLength: 40 }),
        fc.integer({ min: 0, max: 6 }),
        fc.integer({ min: 1, max: 6 }),
        async (before, steps, after, roomFor) => {
          const world = createWorld();
          for (const kind of before) world.record(kind);
          world.apply(before.length);
          const feed = createEventFeed(world.ports);
          const socket = createSocket(roomFor);
          feed.open(actorOf('auditor-token'), { after, callId }, () => socket.sink, isProved);
          for (const one of steps) {
            if (one.do === 'record') world.record(one.kind);
            else if (one.do === 'apply') world.apply(one.count);
            else if (one.do === 'drain') socket.drain();
            else await turn();
          }
          world.apply(Infinity);
          for (let left = world.events.length * 4 + 20; left > 0; left -= 1) {
            socket.drain();
            await turn();
          }
          feed.close();
          const wanted = world.events.filter((event) => event.metadata.callId === callId && event.position > after);
          expect(socket.ids).toEqual(wanted.map(({ position }) => position));
          expect(world.scans()).toBe(0);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('says when all is told that was recorded when it began', async () => {
    const world = createWorld();
    for (const kind of ['own', 'asked', 'sent', 'other'] as const) world.record(kind);
    world.apply(4);
    const feed = createEventFeed(world.ports);
    const socket = createSocket(Infinity);
    feed.open(actorOf('auditor-token'), { after: 0, callId }, () => socket.sink, isProved);
    for (let left = 10; left > 0; left -= 1) await turn();
    world.record('own');
    world.apply(1);
    for (let left = 10; left > 0; left -= 1) await turn();
    const told = socket.texts.slice(1).map((text) => /^id: (\d+)|^: (.*)/.exec(text)?.[0]);
    expect(told).toEqual(['id: 1', 'id: 2', 'id: 3', ': caught up', 'id: 5']);
    feed.close();
  });

  it('is empty for an impossible call id, and does not read the store', async () => {
    const world = createWorld();
    world.record('own');
    world.apply(1);
    const feed = createEventFeed(world.ports);
    const socket = createSocket(Infinity);
    feed.open(actorOf('auditor-token'), { after: 0, callId: '../etc' }, () => socket.sink, isProved);
    for (let left = 10; left > 0; left -= 1) await turn();
    expect([socket.ids, feed.count(), socket.texts.at(-1)]).toEqual([[], 1, ': caught up\n\n']);
    feed.close();
  });
});
