import { describe, expect, it } from '@jest/globals';
import { entryOf } from '../entry.js';
import { leafHash } from '../hashes.js';
import { formatTilePath, widthAt } from '../tile-path.js';
import { createNodeReader } from '../tiles.js';
import { honestCheckpoint, strangerSigner, testSigner, versionOneLog } from '../testing/honest-log.js';
import { nodesOf, proofOfCall } from '../testing/proof-of-call.js';
import { approvedStory, callId } from '../testing/story.js';
import { formatVkey } from '../verifier-key.js';
import { parseWitnessPolicy } from '../witness-policy.js';
import { readAnchors } from './anchors.js';
import { createEntriesVerification } from './entries-verification.js';
import type { Finding } from './findings.js';
import { parseProofFile } from './proof-file.js';
import type { ProofFile } from './proof-file.js';
import { verifyProofFile } from './verify-proof-file.js';
import type { ProofTrust } from './verify-proof-file.js';

const events = approvedStory().claim().report().events;
const honest = proofOfCall(events, callId);

function verify(file: ProofFile, more: Partial<ProofTrust> = {}) {
  const findings: Finding[] = [];
  const trust = { keys: [testSigner.key], since: [], ...more };
  const end = verifyProofFile(file, { ...trust, onFinding: (finding) => findings.push(finding) });
  return { ...end, findings };
}

describe('a proof file', () => {
  it('proves a call under a key that was kept, and says what it does not prove', () => {
    const read = parseProofFile(JSON.stringify({ format: 'countersign-proof/1', ...honest }))!;
    const { exit, findings, unproven, size } = verify(read);
    expect([exit, findings, size]).toEqual([0, [], events.length]);
    expect(unproven.join()).toContain('only the whole log can show that');
    expect(verify(read, { keys: [] }).exit).toBe(3);
    expect(verify(read, { keys: [strangerSigner.key] }).exit).toBe(1);
  });

  it('without its last event says that nothing is known after the one before it', () => {
    const shown = honest.events.slice(0, -1);
    const { exit, unproven } = verify({ ...honest, events: shown });
    const last = `nothing of the call followed after event ${String(shown.at(-1)?.index)} of the log`;
    expect([exit, unproven.join().includes(last)]).toEqual([0, true]);
  });

  it('says that it shows no stop, no end of its run and no restore', () => {
    expect(verify(honest).unproven).toContainEqual(
      expect.stringContaining('no stop, no end of its run and no restore'),
    );
  });

  it('of another signer proves nothing', () => {
    expect(verify(proofOfCall(events, callId, strangerSigner)).findings).toMatchObject([{ check: 'signature' }]);
  });

  it('needs the witnesses of a policy', () => {
    const parsed = parseWitnessPolicy(`log ${formatVkey(testSigner.key)}\nquorum none`);
    if ('problem' in parsed) throw new Error(parsed.problem);
    const { policy } = parsed;
    expect(verify(honest, { keys: [], policy }).exit).toBe(0);
    const strict = { ...policy, isQuorum: () => false };
    expect(verify(honest, { keys: [], policy: strict }).findings).toMatchObject([{ check: 'signature' }]);
  });

  it('agrees with a checkpoint of the same size that was kept, or is found out', () => {
    expect(verify(honest, { since: readAnchors(honest.checkpoint)! }).exit).toBe(0);
    const other = readAnchors(honestCheckpoint(events.toReversed()))!;
    expect(verify(honest, { since: other }).findings).toMatchObject([{ check: 'since' }]);
    const shorter = readAnchors(honestCheckpoint(events.slice(0, 2)))!;
    expect(verify(honest, { since: shorter }).unproven.join()).toContain('checkpoints of other sizes');
  });

  it('may have an event as a hash alone, which is said', () => {
    const [first, ...others] = honest.events;
    const { exit, unproven } = verify({ ...honest, events: [{ ...first!, body: null }, ...others] });
    expect([exit, unproven.join().includes('held as commitments only')]).toEqual([0, true]);
  });

  it('that is changed in any place is found out', () => {
    const text = JSON.stringify({ format: 'countersign-proof/1', ...honest });
    const survived: number[] = [];
    for (let at = 0; at < text.length; at += 7) {
      const flipped = String.fromCharCode(text.charCodeAt(at) ^ 1);
      const file = parseProofFile(text.slice(0, at) + flipped + text.slice(at + 1));
      if (file !== undefined && verify(file).exit === 0 && !isSame(file)) survived.push(at);
    }
    expect(survived.map((at) => text.slice(at - 20, at + 20))).toEqual([]);
  });

  it.each([
    ['without its first event', honest.events.slice(1)],
    ['without one between', honest.events.toSpliced(2, 1)],
    ['with one twice', [...honest.events, honest.events.at(-1)!]],
    ['in another order', honest.events.toReversed()],
    ['with the proof of another event', honest.events.map((event) => ({ ...event, proof: honest.events[0]!.proof }))],
    ['of nothing', []],
  ])('%s is found out', (_, changed) => {
    expect(verify({ ...honest, events: changed }).exit).toBe(1);
  });

  it('of another call, tenant or log is found out', () => {
    for (const change of [{ callId: 'tc_other' }, { tenant: 'other' }, { origin: 'countersign.example/default/2' }])
      expect(verify({ ...honest, ...change }).exit).toBe(1);
    const [policy] = honest.policies;
    expect(verify({ ...honest, policies: [{ ...policy!, content: { version: 1 } }] }).findings).toMatchObject([
      { check: 'policy' },
    ]);
  });

  it('is not read with a number beyond all numbers', () => {
    expect(parseProofFile('{"format":"countersign-proof/1","events":[],"policies":[1e999]}')).toBeUndefined();
    for (const text of ['', '{}', '[]', 'null', '{"format":"countersign-proof/2"}'])
      expect(parseProofFile(text)).toBeUndefined();
  });
});

describe('a proof file with something that no hash covers', () => {
  const text = JSON.stringify({ format: 'countersign-proof/1', ...honest });

  it.each([
    ['a later that excludes what followed', text.replace('"later":"not excluded"', '"later":"excluded"')],
    ['no later', text.replace(',"later":"not excluded"', '')],
    ['another member', text.replace('"later"', '"note":"alice approved","later"')],
    ['another member of an event', text.replace('"entry":', '"approvedBy":"alice","entry":')],
    ['another member of a body', text.replace('"body":{', '"body":{"summary":"alice approved",')],
    ['another member of a policy', text.replace('"policies":[{', '"policies":[{"name":"strict",')],
    ['a member that is there twice', text.replace('"tenant":"default"', '"tenant":"other","tenant":"default"')],
    ['a value that is there twice in a body', text.replace('"amount":', '"amount":1,"amount":')],
  ])('is not read: %s', (_, changed) => {
    expect(changed).not.toBe(text);
    expect(parseProofFile(changed)).toBeUndefined();
  });

  it('is read in any layout', () => {
    expect(parseProofFile(JSON.stringify(JSON.parse(text), null, 2))).toBeDefined();
  });
});

/** What a proof says is the same, whatever else the file has: members that nobody reads prove nothing. */
function isSame({ tenant, origin, callId: call, checkpoint, events: changed, policies }: ProofFile): boolean {
  const said = { tenant, origin, callId: call, checkpoint, events: changed, policies };
  return JSON.stringify(said) === JSON.stringify(honest);
}

describe('entries and tiles', () => {
  const log = versionOneLog().filter((event) => (event.metadata as { tenant: string }).tenant === 'default');
  const entries = log.map((event) => Buffer.from(entryOf(event)));
  const read = nodesOf(log);

  function run(
    changed: readonly Uint8Array[],
    tileOf = (level: number, at: number) => honestTile(level, at),
    note = honestCheckpoint(log),
  ) {
    const findings: Finding[] = [];
    const verification = createEntriesVerification({
      ...{ keys: [testSigner.key], since: [], newest: readAnchors(note)![0]!, streams: new Map() },
      onFinding: (finding) => findings.push(finding),
    });
    for (const entry of changed) {
      verification.take(entry);
      for (const tile of verification.fullTiles()) verification.compareTile(tile, tileOf(tile.level, tile.index));
    }
    for (const tile of verification.openTiles()) verification.compareTile(tile, tileOf(tile.level, tile.index));
    return { ...verification.end(), findings };
  }
  function honestTile(level: number, index: number, node = read): Uint8Array {
    const width = widthAt(log.length, level, index);
    return Buffer.concat(Array.from({ length: width }, (_, at) => node(level * 8, index * 256 + at)));
  }

  it('are proven by the checkpoint', () => {
    expect(run(entries)).toMatchObject({ exit: 0, size: log.length, findings: [] });
    expect(createNodeReader(honestTile)(0, 0)).toEqual(leafHash(entries[0]!));
    expect(formatTilePath({ level: 0, index: 0, width: 256 })).toBe('tile/0/000');
  });

  it('with one id for two events are found out', () => {
    const [one, other] = [log[0]!, log.at(-1)!];
    expect(one.stream).not.toBe(other.stream);
    const told = [...log.slice(0, -1), { ...other, eventId: one.eventId }];
    const index = log.length - 1;
    const { exit, findings } = run(
      told.map((event) => Buffer.from(entryOf(event))),
      (level, at) => honestTile(level, at, nodesOf(told)),
      honestCheckpoint(told),
    );
    expect({ exit, findings }).toMatchObject({ exit: 1, findings: [{ check: 'order', index, eventId: one.eventId }] });
  });

  it('with one bit changed are found out, at or before the change', () => {
    const nth = Math.floor(entries.length / 2);
    const entry = Buffer.from(entries[nth]!);
    entry[5] = (entry[5] ?? 0) ^ 1;
    const changed = run(entries.with(nth, entry));
    expect(changed.exit).toBe(1);
    expect(Math.min(...changed.findings.map(({ index }) => index))).toBeLessThanOrEqual(nth);
    expect(run(entries.toSpliced(nth, 1)).exit).toBe(1);
    expect(run([...entries, entries[0]!]).exit).toBe(1);
    const tile = Buffer.from(honestTile(0, 0));
    tile[nth * 32] = (tile[nth * 32] ?? 0) ^ 1;
    expect(run(entries, () => tile).findings).toMatchObject([{ check: 'tree', index: nth }]);
    expect(run(entries, () => tile.subarray(32)).exit).toBe(1);
    expect(run(entries, undefined, honestCheckpoint(log, strangerSigner)).findings).toMatchObject([
      { check: 'signature' },
    ]);
  });
});
