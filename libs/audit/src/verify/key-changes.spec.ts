import { describe, expect, it } from '@jest/globals';
import type { StoredEvent } from '@countersign/contracts';
import { entryOf } from '../entry.js';
import { createEd25519Signer, createMlDsaSigner } from '../log-key.js';
import { formatNote, parseNote, signNote } from '../note.js';
import type { NoteSigner } from '../note.js';
import { keyChanged, provenIn, signedChange } from '../testing/changed-key.js';
import { honestCheckpoint, strangerSigner, testSigner as old } from '../testing/honest-log.js';
import { proofOfCall } from '../testing/proof-of-call.js';
import { approvedStory, callId } from '../testing/story.js';
import { parseTlogProof } from '../tlog-proof.js';
import { formatVkey } from '../verifier-key.js';
import { readAnchors } from './anchors.js';
import { createEntriesVerification } from './entries-verification.js';
import type { Finding } from './findings.js';
import { keyChangeOf, readKeyChanges } from './key-changes.js';
import type { ProofFileEvent } from './proof-file.js';
import { createVerification } from './verification.js';
import { verifyProofFile } from './verify-proof-file.js';

const origin = old.key.name;
const next = createEd25519Signer(origin, new Uint8Array(32).fill(3));
const third = createEd25519Signer(origin, new Uint8Array(32).fill(4));
const story = approvedStory().claim().report().events;
const before = story.slice(0, -1);
/** The events up to the change, and all of them. */
const changed = [...before, keyChanged(before, old, next)];
const events = [...changed, ...story.slice(-1).map((event) => ({ ...event, position: event.position + 1 }))];
const change = signedChange(changed, [old, next]);

interface Log {
  readonly events?: readonly StoredEvent[];
  /** Who signs the newest checkpoint. */
  readonly signer: NoteSigner;
  readonly changes: readonly ProofFileEvent[];
  readonly trusted?: readonly NoteSigner[];
  readonly note?: string;
}

/** The exit code of each verifier. */
function verify({ events: all = events, signer, changes, trusted = [old], note = honestCheckpoint(all, signer) }: Log) {
  const keys = trusted.map(({ key }) => key);
  const trust = { keys, changes: readKeyChanges(changes.map((one) => JSON.stringify(one))) };
  const findings: Finding[] = [];
  const onFinding = (finding: Finding): void => {
    findings.push(finding);
  };
  const newest = readAnchors(note)?.[0] as NonNullable<ReturnType<typeof readAnchors>>[number];
  const whole = createVerification({ ...trust, kept: [newest], streams: new Map(), onFinding });
  for (const event of all) whole.take(event);
  const entries = createEntriesVerification({ ...trust, since: [], newest, streams: new Map(), onFinding });
  for (const event of all) entries.take(Buffer.from(entryOf(event)));
  const file = { ...proofOfCall(all, callId, signer), ...(changes.length > 0 && { keyChanges: changes }) };
  const proof = verifyProofFile(file, { keys, since: [], onFinding });
  const ends = [whole.end(), entries.end(), proof];
  const doubts = ends.map(({ unproven }) => unproven.filter((one) => one.startsWith('who changed the log key')).length);
  return { exits: ends.map(({ exit }) => exit), doubts, findings };
}

describe('a change of the log key', () => {
  it('passes trust on from the old key to the new one', () => {
    expect(verify({ signer: next, changes: [change] })).toMatchObject({ exits: [0, 0, 0], findings: [] });
    expect(verify({ signer: next, changes: [change], trusted: [next] }).exits).toEqual([0, 0, 0]);
    expect(verify({ signer: next, changes: [] }).exits).toEqual([1, 1, 1]);
  });

  it('is doubted unless the key that signed is given too: attack, a stolen old key names a key of the thief', () => {
    const stolen = [...before, keyChanged(before, old, third)];
    const forged = { events: stolen, signer: third, changes: [signedChange(stolen, [old, third])] };
    expect(verify({ ...forged, trusted: [old, next] }).doubts).toEqual([1, 1, 1]);
    expect(verify({ ...forged, trusted: [next] }).exits).toEqual([1, 1, 1]);
    expect(verify({ signer: next, changes: [change] }).doubts).toEqual([1, 1, 1]);
    expect(verify({ signer: next, changes: [change], trusted: [old, next] }).doubts).toEqual([0, 0, 0]);
  });

  it('counts for the checkpoint that both keys signed, and for those before it the old key does', () => {
    const { note } = parseTlogProof(change.proof)!;
    expect(verify({ events: changed, signer: next, changes: [], note }).exits.slice(0, 2)).toEqual([0, 0]);
    expect(verify({ events: before, signer: old, changes: [] }).exits).toEqual([0, 0, 0]);
    expect(verify({ events: before, signer: next, changes: [] }).exits).toEqual([1, 1, 1]);
  });

  it('follows another one, and the way back to the first key', () => {
    const twice = [...events, keyChanged(events, next, third)];
    const thrice = [...twice, keyChanged(twice, third, old)];
    const changes = [signedChange(thrice, [third, old]), change, signedChange(twice, [next, third])];
    expect(verify({ events: twice, signer: third, changes: changes.slice(1) }).exits).toEqual([0, 0, 0]);
    expect(verify({ events: thrice, signer: old, changes }).exits).toEqual([0, 0, 0]);
    expect(verify({ events: thrice, signer: next, changes }).exits).toEqual([1, 1, 1]);
  });

  it('ends the trust in the old key: attack, a checkpoint after it that the old key alone signed', () => {
    const { exits, findings } = verify({ signer: old, changes: [change] });
    expect(exits).toEqual([1, 1, 1]);
    expect(new Set(findings.map(({ check, detail }) => `${check}: ${detail.split(': ')[1]!}`))).toEqual(
      new Set(['signature: it is signed by a key that was replaced before']),
    );
  });

  it.each<[string, ProofFileEvent]>([
    ['the old key alone signed it', signedChange(changed, [old])],
    ['the new key alone signed it', signedChange(changed, [next])],
    ['the new key signed it twice', signedChange(changed, [next, next])],
    ['another key than the old one signed it', signedChange(changed, [strangerSigner, next])],
    ['there is one more signature', signedChange(changed, [old, next, third])],
    ['both keys signed it, and the tree has no such event', signedChange(events, [old, next])],
    ['its event names another old key', signedChange([...before, keyChanged(before, third, next)], [old, next])],
    ['its event names another new key', signedChange([...before, keyChanged(before, old, third)], [old, next])],
    ['both keys are the same', signedChange([...before, keyChanged(before, old, old)], [old, old])],
    ['its content is not the one of its entry', { ...change, body: signedChange(events, []).body }],
    ['its content is missing', { ...change, body: null }],
    ['it has the note of a move', { ...change, body: moved(change.body) }],
    ['its index is another one', { ...change, index: change.index - 1 }],
    ['its entry is that of another event', { ...change, entry: entryOf(story[0]!) }],
    ['the note is of a smaller tree', provenIn(changed, doublySigned(honestCheckpoint(before)))],
    ['the note is of another log', provenIn(changed, doublySigned(honestCheckpoint([...before, ...before])))],
    ['the event is in the log of another tenant', signedChange([...before, ofTenant('acme')], [old, next])],
    ['the event is in a stream that others write', signedChange([...before, inStream('toolCall-tc_1')], [old, next])],
  ])('passes nothing on when %s', (_why, forged) => {
    expect(keyChangeOf(forged)).toBeUndefined();
    expect(verify({ signer: next, changes: [forged] }).exits).toEqual([1, 1, 1]);
  });

  it('passes nothing on when the event is there and the note is not', () => {
    expect(keyChangeOf(signedChange(changed, []))).toBeUndefined();
    expect(verify({ signer: next, changes: [] }).exits).toEqual([1, 1, 1]);
  });

  it('of another origin passes nothing on', () => {
    const [mine, theirs] = [1, 3].map((byte) => createEd25519Signer('other/default/1', new Uint8Array(32).fill(byte)));
    const foreign = [...before, keyChanged(before, mine!, theirs!)];
    const text = parseNote(honestCheckpoint(foreign))!.text;
    const other = provenIn(foreign, formatNote(signNote(text.replace(origin, 'other/default/1'), [mine!, theirs!])));
    expect(keyChangeOf(other)?.origin).toBe('other/default/1');
    expect(verify({ signer: next, changes: [other] }).exits).toEqual([1, 1, 1]);
    const mixed = provenIn(foreign, formatNote(signNote(text, [mine!, theirs!])));
    expect(keyChangeOf(mixed)).toBeUndefined();
    const inOther = provenIn(changed, doublySigned(honestCheckpoint(changed).replace(origin, 'other/default/1')));
    expect(keyChangeOf(inOther)).toBeUndefined();
  });

  it('over another log passes nothing on in this one', () => {
    const rewritten = [...before.slice(1), keyChanged(before.slice(1), old, next)];
    const forged = signedChange(rewritten, [old, next]);
    expect(keyChangeOf(forged)).toMatchObject({ origin });
    // A proof has no other event of the log to compare it with: who has both keys could sign this log as well.
    expect(verify({ signer: next, changes: [forged] }).exits.slice(0, 2)).toEqual([1, 1]);
  });

  it('after the checkpoint says nothing about it', () => {
    const { exits } = verify({ events: before, signer: next, changes: [change] });
    expect(exits).toEqual([1, 1, 1]);
  });

  it('is found out when anything of it is changed in a proof', () => {
    const text = JSON.stringify(change);
    const honest = JSON.stringify(keyChangeOf(change));
    for (let at = 0; at < text.length; at += 3) {
      const flipped = text.slice(0, at) + String.fromCharCode(text.charCodeAt(at) ^ 1) + text.slice(at + 1);
      const [found] = readKeyChanges([flipped]);
      if (found !== undefined) expect(JSON.stringify(found)).toBe(honest);
    }
  });
});

describe('a change of a log key with an ML-DSA-44 key', () => {
  const [oldSecond, nextSecond, thirdSecond] = [5, 6, 7].map((byte) =>
    createMlDsaSigner(origin, new Uint8Array(32).fill(byte))!,
  ) as [NoteSigner, NoteSigner, NoteSigner];
  const mlDsa = { before: formatVkey(oldSecond.key), after: formatVkey(nextSecond.key) as string | null };
  const withSeconds = (seconds: typeof mlDsa): readonly StoredEvent[] => {
    const event = keyChanged(before, old, next);
    return [...before, { ...event, data: { ...(event.data as object), mlDsa: seconds } }];
  };
  const changedBoth = withSeconds(mlDsa);
  const all = [...changedBoth, ...events.slice(changedBoth.length)];
  const both = signedChange(changedBoth, [old, oldSecond, next, nextSecond]);

  it('passes trust on from each key to the one of its type', () => {
    expect(keyChangeOf(both)?.mlDsa).toEqual({ before: oldSecond.key, after: nextSecond.key });
    for (const [trusted, signer] of [
      [old, next],
      [oldSecond, nextSecond],
    ] as const) {
      expect(verify({ events: all, signer, changes: [both], trusted: [trusted] })).toMatchObject({
        exits: [0, 0, 0],
        findings: [],
      });
    }
    expect(verify({ events: all, signer: next, changes: [both], trusted: [oldSecond] }).exits).toEqual([1, 1, 1]);
  });

  it('ends the trust in the old ML-DSA-44 key: attack, a stolen old key signs with that alone', () => {
    for (const signers of [
      [old, oldSecond, next, nextSecond],
      [old, next],
    ]) {
      const change = signedChange(changedBoth, signers);
      expect(verify({ events: all, signer: oldSecond, changes: [change], trusted: [oldSecond] }).exits).toEqual([
        1, 1, 1,
      ]);
    }
    const none = withSeconds({ ...mlDsa, after: null });
    const ended = signedChange(none, [old, oldSecond, next]);
    const events = [...none, ...all.slice(none.length)];
    expect(verify({ events, signer: next, changes: [ended] }).exits).toEqual([0, 0, 0]);
    expect(verify({ events, signer: oldSecond, changes: [ended], trusted: [oldSecond] }).exits).toEqual([1, 1, 1]);
  });

  it('without both signatures of ML-DSA-44 passes no trust on to the new one', () => {
    for (const signers of [
      [old, next],
      [old, next, nextSecond],
      [old, next, oldSecond],
    ]) {
      const change = signedChange(changedBoth, signers);
      expect(keyChangeOf(change)?.mlDsa).toEqual({ before: oldSecond.key, after: undefined });
      expect(verify({ events: all, signer: next, changes: [change] }).exits).toEqual([0, 0, 0]);
      expect(verify({ events: all, signer: nextSecond, changes: [change], trusted: [oldSecond] }).exits).toEqual([
        1, 1, 1,
      ]);
    }
  });

  it.each([
    ['a third key of ML-DSA-44', signedChange(changedBoth, [old, oldSecond, next, nextSecond, thirdSecond])],
    ['the same signature twice', signedChange(changedBoth, [old, oldSecond, next, nextSecond, nextSecond])],
    ['a wrong signature', signedChange(changedBoth, [old, oldSecond, next, { ...nextSecond, sign: thirdSecond.sign }])],
    ['no Ed25519 signature', signedChange(changedBoth, [oldSecond, nextSecond])],
    ['a key that its event does not name', signedChange(changed, [old, oldSecond, next])],
  ])('passes nothing on with %s', (_why, forged) => {
    expect(keyChangeOf(forged)).toBeUndefined();
  });

  it('passes nothing on when its event names anything else as ML-DSA-44 keys', () => {
    const wrong = [
      { ...mlDsa, before: formatVkey(old.key) },
      { ...mlDsa, after: formatVkey(next.key) },
      { ...mlDsa, after: mlDsa.before },
      { after: mlDsa.after },
      { before: mlDsa.before },
      null,
    ];
    for (const seconds of wrong) {
      const made = withSeconds(seconds as typeof mlDsa);
      expect(keyChangeOf(signedChange(made, [old, oldSecond, next, nextSecond]))).toBeUndefined();
    }
  });
});

function doublySigned(note: string): string {
  return formatNote(signNote(parseNote(note)!.text, [old, next]));
}

function ofTenant(tenant: string): StoredEvent {
  const event = keyChanged(before, old, next);
  const stream = event.stream.replace('default', tenant);
  return { ...event, stream, metadata: { ...(event.metadata as object), tenant } };
}

function inStream(stream: string): StoredEvent {
  return { ...keyChanged(before, old, next), stream };
}

function moved(body: ProofFileEvent['body']): ProofFileEvent['body'] {
  return (
    body && { ...body, metadata: { ...(body.metadata as object), moved: { recordedAt: '2020-01-01T00:00:00.000Z' } } }
  );
}
