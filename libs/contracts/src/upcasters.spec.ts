import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { currentSchemaVersion, eventSchemas, eventTypes } from './events.js';
import type { RecordedEvent } from './events.js';
import { toLogEvent } from './log-event.js';
import { storedVersionOf, upcast, upcasters } from './upcasters.js';

const folder = join(import.meta.dirname, 'golden');

/** One file per type and version, written once and never edited: stored events must stay readable. */
const corpus = readdirSync(folder)
  .sort()
  .map((file) => ({ file, event: JSON.parse(readFileSync(join(folder, file), 'utf8')) as RecordedEvent }));

describe('the golden corpus', () => {
  it.each(corpus)('$file is read as an event of today', ({ event }) => {
    expect(toLogEvent(event)).toBe(event);
    const today = upcast(event);
    expect(today.metadata.schemaVersion).toBe(currentSchemaVersion);
    expect(eventSchemas[today.type].parse(today.data)).toEqual(today.data);
  });

  it('tells its version of each type that an upcaster lifts, without the metadata', () => {
    const lifted = corpus.filter(({ event }) => event.type in upcasters);
    expect(new Set(lifted.map(({ event }) => event.type)).size).toBe(Object.keys(upcasters).length);
    for (const { event } of lifted) expect(storedVersionOf(event.type, event.data)).toBe(event.metadata.schemaVersion);
  });

  it("has an example of every event type in today's version", () => {
    const known = new Set(corpus.map(({ event }) => `${event.type}.v${String(event.metadata.schemaVersion)}`));
    const missing = eventTypes.filter((type) => !known.has(`${type}.v${String(currentSchemaVersion)}`));
    expect(missing).toEqual([]);
  });
});

describe('upcast', () => {
  const sample = (overrides: Partial<RecordedEvent['metadata']> = {}, type = 'ApprovalExpired'): RecordedEvent => ({
    eventId: 'e',
    type: type as RecordedEvent['type'],
    data: { approvalId: 'apr', expiredAt: '2026-01-01T00:00:00.000Z' },
    metadata: { tenant: 'default', callId: 'tc', runId: 'r', schemaVersion: 1, commandId: 'c', ...overrides },
    stream: 's',
    revision: 0,
    position: 7,
    recordedAt: '2026-01-01T00:00:00.000Z',
  });

  it('lifts an old event step by step, and leaves the stored one alone', () => {
    const old = sample({ schemaVersion: 1 });
    const steps = {
      ApprovalExpired: { 1: (data: object) => ({ ...data, a: 1 }), 2: (data: object) => ({ ...data, b: 2 }) },
    };
    const lifted = upcast(old, steps, 3);
    expect(lifted.data).toEqual({ ...old.data, a: 1, b: 2 });
    expect(lifted.metadata.schemaVersion).toBe(3);
    expect(old.data).not.toHaveProperty('a');
  });

  it('keeps the data of a type that did not change between versions', () => {
    expect(upcast(sample(), {}, 2).data).toEqual(sample().data);
  });
});
