import { hash } from 'node:crypto';
import { canonicalJson } from '@countersign/contracts';
import type { JsonValue } from '@countersign/contracts';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { canonicalForm } from './canonical.js';
import { bodyOf, entryOf, tenantOf } from './entry.js';
import { leafHash } from './hashes.js';

const event = {
  eventId: '0b8f5b7e-5f6d-4c1f-9d5e-2a9d7c1e4f00',
  stream: 'toolCall-tc_1',
  revision: 0,
  type: 'ToolCallRequested',
  recordedAt: '2027-01-02T03:04:05.678Z',
  data: { toolName: 'pay', arguments: { amount: 1.5, to: 'Zoë' } },
  metadata: { tenant: 'acme', callId: 'tc_1', schemaVersion: 2 },
};
const body =
  '{"data":{"arguments":{"amount":1.5,"to":"Zoë"},"toolName":"pay"},"metadata":{"callId":"tc_1","schemaVersion":2,"tenant":"acme"}}';
const bodyDigest = `sha256:${hash('sha256', body, 'hex')}`;
const entry = `{"body":"${bodyDigest}","eventId":"0b8f5b7e-5f6d-4c1f-9d5e-2a9d7c1e4f00","recordedAt":"2027-01-02T03:04:05.678Z","revision":0,"stream":"toolCall-tc_1","type":"ToolCallRequested","v":1}`;

describe('entry', () => {
  it('has the bytes of the stored format', () => {
    expect(entryOf(event)).toBe(entry);
    expect(Buffer.from(leafHash(entry)).toString('hex')).toBe(
      hash('sha256', Buffer.concat([Buffer.of(0), Buffer.from(entry)]), 'hex'),
    );
    expect(tenantOf(event)).toBe('acme');
  });

  it('stays the same when the event moves to another store', () => {
    const moved = {
      ...event,
      recordedAt: '2028-01-01T00:00:00.000Z',
      metadata: { ...event.metadata, moved: { recordedAt: event.recordedAt } },
    };
    expect(entryOf(moved)).toBe(entry);
  });

  it('covers every member', () => {
    const changed = [
      { ...event, eventId: '1' },
      { ...event, stream: 'toolCall-tc_2' },
      { ...event, revision: 1 },
      { ...event, type: 'ToolCallAllowed' },
      { ...event, recordedAt: '2027-01-02T03:04:05.679Z' },
      { ...event, data: { ...event.data, more: null } },
      { ...event, metadata: { ...event.metadata, tenant: 'acme2' } },
    ];
    expect(new Set([event, ...changed].map(entryOf)).size).toBe(changed.length + 1);
  });

  it('has a body for data that are no JSON, and a form for half of a surrogate pair', () => {
    const text = canonicalForm({ metadata: event.metadata });
    expect(bodyOf({ ...event, data: undefined })).toBe(`sha256:${hash('sha256', text, 'hex')}`);
    expect(canonicalForm(['\ud800'])).toBe('["\\ud800"]');
  });

  it('is written as RFC 8785 says', () => {
    expect(
      canonicalForm(JSON.parse('{"\\u20ac":1,"\\r":2,"1":1e21,"\\ud83d\\ude02":-0,"\\ufb33":[],"a":0.000001}')),
    ).toBe('{"\\r":2,"1":1e+21,"a":0.000001,"\u20ac":1,"\ud83d\ude02":0,"\ufb33":[]}');
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
        expect(canonicalForm(value)).toBe(canonicalJson(value as JsonValue));
      }),
    );
  });

  it('is the same after a value that needs more memory than is kept', () => {
    const small = { b: ['Zoë', '\ud83d\ude02'], ünter: 1 };
    const large = { text: 'a'.repeat(70_000), wide: 'ü'.repeat(70_000), small };
    for (const value of [small, large, small]) {
      expect(canonicalForm(value)).toBe(canonicalJson(value));
      expect(bodyOf({ data: value, metadata: {} })).toBe(
        `sha256:${hash('sha256', canonicalJson({ data: value, metadata: {} }), 'hex')}`,
      );
    }
  });

  it('is the same after a log with other names in each event', () => {
    const known = { b: 1, a: { d: 2, c: 3 }, [`z${'y'.repeat(200)}`]: 4, x: undefined };
    const form = canonicalForm(known);
    expect(form).toBe(`{"a":{"c":3,"d":2},"b":1,"z${'y'.repeat(200)}":4}`);
    for (let nth = 0; nth < 10_000; nth += 1) {
      const name = `n${String(nth)}`;
      expect(canonicalForm({ [name]: nth, a: 1 })).toBe(`{"a":1,"${name}":${String(nth)}}`);
    }
    expect(canonicalForm(known)).toBe(form);
  });
});
