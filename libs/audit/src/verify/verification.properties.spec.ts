import { describe, expect, it } from '@jest/globals';
import type { StoredEvent } from '@countersign/contracts';
import fc from 'fast-check';
import { entryOf } from '../entry.js';
import { leafHash } from '../hashes.js';
import { honestCheckpoint, strangerSigner, testSigner, versionOneLog } from '../testing/honest-log.js';
import { readAnchors } from './anchors.js';
import type { Finding } from './findings.js';
import { parseStored, readText } from './parse-stored.js';
import { createVerification } from './verification.js';

const log = versionOneLog();
const whole = honestCheckpoint(log);

interface Against {
  readonly since?: string;
  readonly kept?: string;
  readonly leaves?: readonly StoredEvent[];
  readonly isTrusting?: boolean;
}

function verified(
  events: readonly StoredEvent[],
  { since, kept, leaves, isTrusting = true }: Against = { since: whole },
) {
  const findings: Finding[] = [];
  const verification = createVerification({
    keys: isTrusting ? [testSigner.key] : [],
    since: since === undefined ? [] : (readAnchors(since) ?? []),
    kept: kept === undefined ? [] : (readAnchors(kept) ?? []),
    storedLeaf: leaves && ((index) => (leaves[index] === undefined ? undefined : leafHash(entryOf(leaves[index])))),
    streams: new Map(),
    onFinding: (finding) => findings.push(finding),
  });
  events.forEach(verification.take);
  const end = verification.end();
  return { ...end, findings, first: Math.min(...findings.map(({ index }) => index)) };
}

/** A change of the log, and the index of the first event that it changes. */
interface Mutation {
  readonly what: string;
  readonly events: readonly StoredEvent[];
  readonly at: number;
}

const indexes = fc.nat({ max: log.length - 1 });
const eventAt = (index: number): StoredEvent => log[index] as StoredEvent;

/** Another text in the place of one text of the event. */
function flipped(event: StoredEvent, seed: number): StoredEvent {
  const text = JSON.stringify(event);
  const places = [...text.matchAll(/:"([^"\\])/g)].map(({ index }) => index + 2);
  const place = places[seed % places.length] ?? 0;
  const unit = text.charAt(place) === 'x' ? 'y' : 'x';
  return JSON.parse(text.slice(0, place) + unit + text.slice(place + 1)) as StoredEvent;
}

const illegal: readonly StoredEvent[] = log
  .filter(({ type, data }) => type === 'ExecutionClaimed' || (data as { resolution?: string }).resolution === 'denied')
  .map((event) => ({ ...event, eventId: 'forged', revision: log.filter((one) => one.stream === event.stream).length }));

const mutations: fc.Arbitrary<Mutation> = fc
  .oneof(
    fc
      .tuple(indexes, fc.nat())
      .map(([at, seed]) => ({ what: 'flip', at, events: log.with(at, flipped(eventAt(at), seed)) })),
    indexes.map((at) => ({ what: 'drop', at, events: log.toSpliced(at, 1) })),
    fc
      .tuple(indexes, indexes)
      // Before itself, an event stays where it was, and its duplicate is the next one.
      .map(([from, to]) => ({
        ...{ what: 'duplicate', at: from === to ? to + 1 : to },
        events: log.toSpliced(to, 0, eventAt(from)),
      })),
    fc
      .tuple(indexes, indexes)
      .filter(([one, other]) => one !== other)
      .map(([one, other]) => ({
        what: 'swap',
        at: Math.min(one, other),
        events: log.with(one, eventAt(other)).with(other, eventAt(one)),
      })),
    indexes.map((at) => ({ what: 'truncate', at, events: log.slice(0, at) })),
    fc.constantFrom(...illegal).map((event) => ({ what: 'append', at: log.length, events: [...log, event] })),
  )
  // A counterexample is told by its place, not by all events.
  .map((mutation) => ({ ...mutation, [fc.toStringMethod]: () => `${mutation.what} at ${String(mutation.at)}` }));

it('a moved event is chosen for judgement by the time of its first store', () => {
  const later = '2039-01-01T00:00:00.000Z';
  const moved = log.map((event) => ({
    ...event,
    recordedAt: later,
    metadata: { ...(event.metadata as object), moved: { recordedAt: event.recordedAt } },
  }));
  const seen = new Set<string>();
  const isJudged = (recordedAt: string): boolean => seen.add(recordedAt).size > 0;
  const trust = { keys: [testSigner.key], since: readAnchors(whole) ?? [], streams: new Map() };
  const verification = createVerification({ ...trust, isJudged, onFinding: () => undefined });
  moved.forEach(verification.take);
  expect(verification.end().exit).toBe(0);
  expect([...seen]).toEqual([...new Set(log.map(({ recordedAt }) => recordedAt))]);
});

describe('a verification against a checkpoint that was kept', () => {
  it('proves an honest log', () => {
    expect(verified(log)).toMatchObject({ exit: 0, findings: [], size: log.length, epoch: 1 });
  });

  it('proves a log that went on legally, and says which events came later', () => {
    const early = honestCheckpoint(log.slice(0, 100));
    const { exit, proven, unproven } = verified(log, { since: early });
    expect({ exit, proven }).toEqual({ exit: 0, proven: 100 });
    expect(unproven).toContain(`the last ${String(log.length - 100)} events: they came after the checkpoint`);
  });

  it('finds any single mutation, and names an index at or before it', () => {
    fc.assert(
      fc.property(mutations, ({ events, at }) => {
        const { exit, first } = verified(events);
        expect(exit).toBe(1);
        expect(first).toBeLessThanOrEqual(at);
      }),
      { numRuns: 120 },
    );
  });

  it('names the exact index where the tree beside the log is still the one that was signed', () => {
    fc.assert(
      fc.property(mutations, ({ what, events, at }) => {
        const { findings } = verified(events, { since: whole, leaves: log });
        const index = findings.find(({ check }) => check === 'since')?.index;
        // An event after the last signed one has nothing beside it in the tree: an append, or a repeat of the last event.
        const signed = events.slice(0, log.length);
        if (signed.some((event, place) => event !== log[place])) {
          expect(index).toBe(signed.findIndex((event, place) => entryOf(event) !== entryOf(eventAt(place))));
        }
        if (what === 'truncate') expect(index).toBe(at);
      }),
      { numRuns: 40 },
    );
  });

  it('looks between two checkpoints where a day was kept before the change and one after it', () => {
    const notebook = [40, 80, 120].map((size) => honestCheckpoint(log.slice(0, size))).join('\n');
    const { findings } = verified(log.with(90, flipped(eventAt(90), 3)), { since: notebook });
    expect(findings.filter(({ check }) => check === 'since').map(({ index }) => index)).toEqual([80]);
  });

  it('is not misled by a rewritten log with a rewritten tree and a new signature', () => {
    const forged = log.with(50, flipped(eventAt(50), 1));
    const again = { leaves: forged, kept: honestCheckpoint(forged) };
    expect(verified(forged, { ...again, since: whole })).toMatchObject({ exit: 1, first: 0 });
  });

  it('refuses a checkpoint that another key signed, and one whose signature is not of its text', () => {
    const stranger = honestCheckpoint(log, strangerSigner);
    const mixed = whole.replace(`\n${String(log.length)}\n`, `\n${String(log.length - 1)}\n`);
    for (const note of [stranger, mixed]) {
      expect(verified(log, { kept: note }).findings[0]?.check).toBe('signature');
      expect(verified(log, { since: note }).exit).toBe(1);
    }
  });

  it('says that nothing vouches for a log without a key, and for one without a checkpoint', () => {
    const unkeyed = verified(log, { since: whole, isTrusting: false });
    expect(unkeyed).toMatchObject({ exit: 3, findings: [] });
    expect(unkeyed.unproven).toContain('the whole log: no key was given (--vkey)');
    expect(verified(log, {})).toMatchObject({ exit: 3, findings: [] });
  });

  it('finds a tree that is kept with the log and is not the one of the log', () => {
    const { findings } = verified(log, { since: whole, leaves: log.with(7, flipped(eventAt(7), 0)) });
    expect(findings).toMatchObject([{ check: 'tree', index: 7 }]);
  });

  it('takes no number for null that is too large for JSON', () => {
    const text = JSON.stringify(eventAt(1)).replace('"reason":null', '"reason":1e999');
    expect(text).toContain('1e999');
    expect(parseStored(text)).toBeUndefined();
    expect(parseStored('{"a":[1e300,"1e999"]}')).toEqual({ a: [1e300, '1e999'] });
  });

  it.each([
    `${'1'.repeat(250)}e99`,
    `-${'1'.repeat(305)}.5E+9`,
    '1'.repeat(310),
    '[0,\n\t1e0999]',
    '{"a" :\r 1.5e+00400}',
  ])('takes no number that is too large for JSON, also in another form: %s', (text) => {
    expect(parseStored(text)).toBeUndefined();
    expect(readText(text)).toEqual({ value: undefined, isAmbiguous: false });
  });
});
