import { describe, expect, it } from '@jest/globals';
import type { StoredEvent } from '@countersign/contracts';
import { formatCheckpoint } from '../checkpoint.js';
import { digestOf } from '../legality/digests.js';
import { createEd25519Signer } from '../log-key.js';
import { formatNote, signNote } from '../note.js';
import { emptyRoot } from '../hashes.js';
import { honestCheckpoint, testSigner } from '../testing/honest-log.js';
import { proofOfCall } from '../testing/proof-of-call.js';
import { approvedStory, batched, callId, minute, salt, story, verdict } from '../testing/story.js';
import { readAnchors } from './anchors.js';
import type { Anchor } from './anchors.js';
import type { Finding } from './findings.js';
import { parseShown } from './parse-stored.js';
import { parseProofFile } from './proof-file.js';
import type { ProofFile } from './proof-file.js';
import { verifyProofFile } from './verify-proof-file.js';
import { createVerification } from './verification.js';
import type { VerificationOptions } from './verification.js';

const keys = [testSigner.key];
const { events } = approvedStory().claim().report();
const honest = proofOfCall(events, callId);

function verifyProof(file: ProofFile, since: readonly Anchor[] = []) {
  const findings: Finding[] = [];
  const end = verifyProofFile(file, { keys, since, onFinding: (finding) => findings.push(finding) });
  return { ...end, findings };
}

function verifyLog(log: readonly StoredEvent[], options: Partial<VerificationOptions> = {}) {
  const findings: Finding[] = [];
  const onFinding = (finding: Finding): unknown => findings.push(finding);
  const since = readAnchors(honestCheckpoint(log)) ?? [];
  const verification = createVerification({ keys, since, streams: new Map(), onFinding, ...options });
  log.forEach(verification.take);
  return { ...verification.end(), findings };
}

describe('a proof file is not proven', () => {
  it('where its owner has the log key, and the auditor kept a checkpoint of another size', () => {
    const shorter = readAnchors(honestCheckpoint(events.slice(0, 2))) ?? [];
    const { exit, unproven } = verifyProof(honest, shorter);
    expect({ exit, unproven: unproven.join() }).toMatchObject({
      exit: 3,
      unproven: expect.stringContaining('checkpoints of other sizes') as unknown,
    });
    expect(verifyProof(honest, [...shorter, ...(readAnchors(honest.checkpoint) ?? [])]).exit).toBe(0);
  });

  const begun = story().policy().request(batched).allow();
  const broken = { begunAt: undefined, state: 'denied', reason: 'no', brokenBy: 'alice', brokenAt: minute(1) };

  it.each([
    ['begins after it was broken', begun.batch('BatchBroken', broken).batch('BatchBegun')],
    ['is begun by a call that is none of it', begun.batch('BatchBegun', { callId: 'tc_stranger' })],
    ['begins while the call waits', story().policy().request(batched).ask().batch('BatchBegun')],
  ])('where a batch %s', (_, told) => {
    const read = proofOfCall(JSON.parse(JSON.stringify(told.events)) as StoredEvent[], callId);
    expect(verifyProof(read).findings).toMatchObject([{ check: 'legal' }]);
  });

  it('where a policy stands in it that judged nothing', () => {
    const nice = { version: 1, rules: [{ id: 'nice' }] };
    const beside = { policyVersion: digestOf(nice), content: nice };
    expect(verifyProof({ ...honest, policies: [...honest.policies, beside] }).findings).toMatchObject([
      { check: 'policy', detail: expect.stringContaining('judged no event') as unknown },
    ]);
  });

  it('but is, where another policy judged an edit', () => {
    const newer = { version: 1, rules: [{ id: 'newer' }] };
    const decision = {
      ...{ type: 'edit', arguments: { amount: 1 }, sensitive: [], salt, requirement: null, clock: null },
      verdict: verdict('require', { policyVersion: digestOf(newer) }),
    };
    const asked = story().policy().request().ask();
    const { events: edited } = asked.edit('alice', { amount: 1 }, { decision });
    const file = proofOfCall(edited, callId);
    const both = [...file.policies, { policyVersion: digestOf(newer), content: newer }];
    expect(verifyProof({ ...file, policies: both })).toMatchObject({ exit: 0, findings: [] });
    expect(verifyProof(file).unproven).toContainEqual(expect.stringContaining('1 cited policy'));
  });

  it('where a body has the note of a move, which no hash covers', () => {
    const told = honest.events.map((event) => {
      const { data, metadata } = event.body as { data: unknown; metadata: object };
      return { ...event, body: { data, metadata: { ...metadata, moved: { recordedAt: '2020-01-01T00:00:00.000Z' } } } };
    });
    expect(verifyProof({ ...honest, events: told }).findings[0]).toMatchObject({ check: 'body' });
  });
});

describe('a text that programs read differently is not read', () => {
  const text = JSON.stringify({ format: 'countersign-proof/1', ...honest });

  it.each([
    ['5.0000000000000000001', undefined],
    ['9007199254740993', undefined],
    ['12345678901234567891', undefined],
    ['1e-400', undefined],
    ['9007199254740992', 9007199254740992],
    ['5.0', 5],
    ['50e-1', 5],
    ['-0', -0],
    ['1e-07', 1e-7],
    ['1.7976931348623157e+308', Number.MAX_VALUE],
  ])('a number %s', (number, value) => {
    const read = parseShown(`{ "account": ${number} }`);
    expect(read).toEqual(value === undefined ? undefined : { account: value });
    const proof = parseProofFile(text.replace('"amount":5', `"amount":${number}`));
    expect(proof === undefined).toBe(value === undefined);
  });

  it('but digits in a text are', () => {
    expect(parseShown('{ "note": "\\"9007199254740993\\" is 5.0000000000000000001" }')).toBeDefined();
  });
});

describe('a log is not proven', () => {
  const [first, ...others] = events as [StoredEvent, ...StoredEvent[]];
  const withMetadata = (more: object): StoredEvent[] => [
    { ...first, metadata: { ...(first.metadata as object), ...more } },
    ...others,
  ];

  it('where the note of a move has words that no hash covers', () => {
    const moved = { recordedAt: first.recordedAt };
    expect(verifyLog(withMetadata({ moved })).exit).toBe(0);
    expect(verifyLog(withMetadata({ moved: { ...moved, approvedBy: 'alice' } })).findings).toMatchObject([
      { check: 'read', index: 0 },
    ]);
  });

  it('without a word about the time of a move, which no hash covers', () => {
    const [moved] = withMetadata({ moved: { recordedAt: first.recordedAt } });
    const told = { ...(moved as StoredEvent), recordedAt: '2020-01-01T00:00:00.000Z' };
    const { exit, unproven } = verifyLog([told, ...others], { since: readAnchors(honestCheckpoint(events)) ?? [] });
    expect([exit, unproven.join().includes('1 event that were moved')]).toEqual([0, true]);
  });

  it('where a time is none, also by somebody who looks at a period', () => {
    const log = [{ ...first, recordedAt: '9' }, ...others];
    expect(verifyLog(log).findings).toMatchObject([{ check: 'read', index: 0 }]);
    expect(verifyLog(log, { isJudged: (at) => at < '2027' }).findings).toMatchObject([{ check: 'read', index: 0 }]);
  });

  it.each(['2026-13-01T00:00:00.000Z', '2026-02-30T00:00:00.000Z', '2026-12-01T25:00:00.000Z'])(
    'where a time is in no calendar: %s',
    (recordedAt) => {
      expect(verifyLog([{ ...first, recordedAt }, ...others]).findings).toMatchObject([{ check: 'read', index: 0 }]);
    },
  );

  it('where a name is sealed, so that nobody can compare it', () => {
    const told = approvedStory().events.map((event) =>
      (event.data as { respondedBy?: string }).respondedBy === 'bob'
        ? {
            ...event,
            data: { ...(event.data as object), respondedBy: '[sealed]' },
            metadata: { ...(event.metadata as object), sealed: { key: 'k', pointers: ['/respondedBy'], box: 'b' } },
          }
        : event,
    );
    expect(verifyLog(told).findings).toMatchObject([{ check: 'read', index: 4 }]);
  });

  const changed = {
    ...{ processId: 'p1', configures: 'tokens', digest: null, added: [], changed: [], removed: [], summary: [] },
    changedAt: minute(0),
  };

  it.each(['notes', 'system-other-p1', 'system-default-p2'])(
    'where a change of rights is in the stream %s',
    (stream) => {
      expect(verifyLog(story().append('system-default-p1', 'ConfigurationChanged', changed).events).exit).toBe(0);
      const { findings } = verifyLog(story().append(stream, 'ConfigurationChanged', changed).events);
      expect(findings).toMatchObject([{ check: 'legal', index: 0 }]);
    },
  );
});

describe('two events with one id', () => {
  const { eventId } = events[0] as StoredEvent;
  const told = [...events.slice(0, -1), { ...(events.at(-1) as StoredEvent), eventId }];
  const index = events.length - 1;
  const finding = { check: 'order', index, eventId, detail: 'the event at index 0 has the same id' };

  it('are found in a log', () => {
    expect(told[0]?.stream).not.toBe(told[index]?.stream);
    expect(verifyLog(told)).toMatchObject({ exit: 1, findings: [finding] });
    expect(verifyLog(events)).toMatchObject({ exit: 0, findings: [] });
  });

  it('are found in the proof of a call', () => {
    const [first, ...others] = honest.events;
    const { eventId: same } = JSON.parse(first!.entry) as { eventId: string };
    const proof = proofOfCall(
      events.map((event, nth) => (nth === honest.events.at(-1)?.index ? { ...event, eventId: same } : event)),
      callId,
    );
    expect(others.length).toBeGreaterThan(0);
    expect(verifyProof(proof)).toMatchObject({ exit: 1, findings: [{ check: 'order', eventId: same }] });
  });
});

describe('an epoch after the first', () => {
  const signer = createEd25519Signer('countersign.example/default/2', new Uint8Array(32).fill(3));
  const noteOf = (epoch: number, by: typeof signer): Anchor => {
    const { root, size } = (readAnchors(honestCheckpoint(events)) ?? [])[0] as Anchor;
    const of = epoch === 2 ? { size, root } : { size: 0, root: emptyRoot };
    const text = formatCheckpoint({ origin: `countersign.example/default/${String(epoch)}`, ...of, extensions: [] });
    return (readAnchors(formatNote(signNote(text, [by]))) ?? [])[0] as Anchor;
  };
  const trusted = { keys: [signer.key, testSigner.key], since: [] };

  it('is listed with the one before it, also where the store names them in another order', () => {
    const kept = [noteOf(1, testSigner), noteOf(2, signer)];
    const { exit, epoch, continued, unproven } = verifyLog(events, { ...trusted, kept });
    expect({ exit, epoch, continued }).toMatchObject({ exit: 0, epoch: 2, continued: [{ epoch: 1 }] });
    const old = 'why epoch 1 ended: no event says so, as versions until 2026-11-29 recorded none';
    expect(unproven.filter((sentence) => sentence.includes('epoch'))).toEqual([old]);
  });

  it('does not forget the one before it in silence', () => {
    const { unproven } = verifyLog(events, { ...trusted, kept: [noteOf(2, signer)] });
    expect(unproven).toContainEqual(expect.stringContaining('before epoch 2 ended'));
    expect(verifyLog(events, { ...trusted, kept: [], since: [noteOf(2, signer)] }).unproven.join()).toContain(
      'epoch 2',
    );
  });

  it('does not take the word of a stranger about the one before it', () => {
    const kept = [noteOf(2, signer), noteOf(1, signer)];
    expect(verifyLog(events, { ...trusted, kept }).unproven).toContainEqual(
      expect.stringContaining('no key that you trust has signed its checkpoint'),
    );
  });
});
