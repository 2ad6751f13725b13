import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { eventTypes } from './events.js';
import { isReadable, readablePart, toLogEvent } from './log-event.js';
import type { StoredEvent } from './log-event.js';

const folder = join(import.meta.dirname, 'golden');
const golden = readdirSync(folder).map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as StoredEvent);
const anyGolden = fc.constantFrom(...golden);

const why = (stored: StoredEvent): string | undefined => toLogEvent(stored).unreadable;
const [first] = golden;
if (first === undefined) throw new Error('there is no golden event');

describe('the road from a stored event to its readers', () => {
  it('returns the stored object of an event that can be read', () => {
    for (const stored of golden) expect(toLogEvent(stored)).toBe(stored);
  });

  it('gives a moved event the time of its first store, also one that cannot be read', () => {
    const moved = { recordedAt: '2024-02-03T04:05:06.789Z' };
    const stored = { ...first, metadata: { ...(first.metadata as object), moved } };
    expect(toLogEvent(stored)).toEqual({ ...stored, ...moved });
    expect(toLogEvent({ ...stored, type: 'FromTheFuture' })).toMatchObject(moved);
    const odd = { ...stored, metadata: { ...stored.metadata, moved: { recordedAt: 'yesterday' } } };
    expect(why(odd)).toContain('its metadata do not fit (moved');
    expect(toLogEvent(odd).recordedAt).toBe(first.recordedAt);
  });

  it('never throws, and returns an event of its type or the reason, whatever was stored', () => {
    fc.assert(
      fc.property(anyGolden, fc.anything(), fc.anything(), fc.string(), (stored, data, metadata, type) => {
        for (const odd of [
          { ...stored, data },
          { ...stored, metadata },
          { ...stored, type },
        ]) {
          const read = toLogEvent(odd);
          if (isReadable(read)) expect(eventTypes).toContain(read.type);
          else expect(read.unreadable).not.toBe('');
          expect(read.position).toBe(stored.position);
        }
      }),
    );
  });

  it('cannot read an event without its members, or with the members of another type', () => {
    for (const stored of golden) {
      expect([stored.type, isReadable(toLogEvent({ ...stored, data: {} }))]).toEqual([stored.type, false]);
      const other = golden.find(({ type }) => type !== stored.type);
      expect([stored.type, isReadable(toLogEvent({ ...stored, data: other?.data }))]).toEqual([stored.type, false]);
    }
  });

  it('says why, what to do, and no value', () => {
    const secret = 'hunter2';
    expect(why({ ...first, type: 'FromTheFuture' })).toContain('type is unknown to this version; upgrade Countersign');
    const later = { ...(first.metadata as object), schemaVersion: 99 };
    expect(why({ ...first, metadata: later })).toContain('schema version 99 is later than 2; upgrade Countersign');
    expect(why({ ...first, data: undefined })).toContain('not a JSON object');
    expect(why({ ...first, data: { [secret]: secret } })).toContain('do not fit its type');
    expect(why({ ...first, data: { ...(first.data as object), approvalId: [secret] } })).not.toContain(secret);
  });

  it('keeps the headers that can be read, and knows the call of a stream by the name of the stream', () => {
    const callId = `tc_${'a'.repeat(26)}`;
    const stream = `toolCall-${callId}`;
    const read = toLogEvent({ ...first, stream, metadata: { tenant: 'mine', callId: 7, runId: 'run-1' } });
    expect(read.metadata).toEqual({ tenant: 'mine', callId, runId: 'run-1' });
  });

  it('ends what can be read of a stream at its first event that cannot', () => {
    const events = [first, { ...first, type: 'FromTheFuture' }, first].map(toLogEvent);
    const { events: read, unreadable } = readablePart(events);
    expect(read).toEqual([first]);
    expect(unreadable).toBe(events[1]);
  });
});
