import { describe, expect, it } from '@jest/globals';
import { createMlDsaSigner } from '../log-key.js';
import { formatNote, parseNote, signNote } from '../note.js';
import type { NoteSigner } from '../note.js';
import { honestCheckpoint, strangerSigner, testSigner } from '../testing/honest-log.js';
import { proofOfCall } from '../testing/proof-of-call.js';
import { approvedStory, callId } from '../testing/story.js';
import type { VerifierKey } from '../verifier-key.js';
import { formatVkey, verifierKey } from '../verifier-key.js';
import { parseWitnessPolicy } from '../witness-policy.js';
import { readAnchors } from './anchors.js';
import type { Trust } from './trust.js';
import { createVerification } from './verification.js';
import { verifyProofFile } from './verify-proof-file.js';

const { events } = approvedStory().claim().report();
const origin = testSigner.key.name;
const mlDsa = createMlDsaSigner(origin, new Uint8Array(32).fill(5)) as NoteSigner;
/** Of a type that no program here knows, as ML-DSA-44 is to an older Node. */
const unknown: NoteSigner = { key: verifierKey(origin, 0x07, mlDsa.key.key), sign: () => new Uint8Array(72) };

/** The exit codes for a whole log and for a proof, and what was not proven because of signatures. */
function verify(signers: readonly NoteSigner[], trusted: Trust) {
  const note = formatNote(signNote(parseNote(honestCheckpoint(events))!.text, signers));
  const onFinding = (): void => undefined;
  const whole = createVerification({ ...trusted, kept: readAnchors(note)!, streams: new Map(), onFinding });
  for (const event of events) whole.take(event);
  const made = proofOfCall(events, callId);
  const inNote = made.events.map((event) => ({ ...event, proof: event.proof.replace(made.checkpoint, note) }));
  const proof = { ...made, checkpoint: note, events: inNote };
  const ends = [whole.end(), verifyProofFile(proof, { ...trusted, since: [], onFinding })];
  return {
    exits: ends.map(({ exit }) => exit),
    unchecked: ends.map(({ unproven }) => unproven.filter((sentence) => sentence.includes('cannot check')).length),
  };
}

const trusting = (...keys: readonly VerifierKey[]): Trust => ({ keys });
const forged: NoteSigner = { ...mlDsa, sign: (text) => mlDsa.sign(`${text}\n`) };

describe('a checkpoint with a second signature', () => {
  it.each<[string, readonly NoteSigner[], Trust, number]>([
    ['proven to who has the first key', [testSigner, mlDsa], trusting(testSigner.key), 0],
    ['proven to who has the second key', [testSigner, mlDsa], trusting(mlDsa.key), 0],
    ['proven to who has both', [testSigner, mlDsa], trusting(testSigner.key, mlDsa.key), 0],
    ['proven without the second one', [testSigner], trusting(testSigner.key, mlDsa.key), 0],
    ['a finding with a wrong second one', [testSigner, forged], trusting(testSigner.key, mlDsa.key), 1],
    [
      'a finding with a wrong first one',
      [{ ...testSigner, sign: strangerSigner.sign }, mlDsa],
      trusting(testSigner.key, mlDsa.key),
      1,
    ],
    ['proven with a wrong second one to who does not have its key', [testSigner, forged], trusting(testSigner.key), 0],
  ])('is %s', (_what, signers, trust, exit) => {
    expect(verify(signers, trust)).toEqual({ exits: [exit, exit], unchecked: [0, 0] });
  });

  it('that cannot be checked here is named as not proven, beside a first one that proves', () => {
    const both = trusting(testSigner.key, unknown.key);
    expect(verify([testSigner, unknown], both)).toEqual({ exits: [0, 0], unchecked: [1, 1] });
    expect(verify([testSigner], both)).toEqual({ exits: [0, 0], unchecked: [0, 0] });
  });

  it('that cannot be checked here is no finding and no proof, where it is the only one', () => {
    expect(verify([testSigner, unknown], trusting(unknown.key))).toEqual({ exits: [3, 3], unchecked: [1, 1] });
    expect(verify([testSigner], trusting(unknown.key)).exits).toEqual([1, 1]);
    const wrong = { ...testSigner, sign: strangerSigner.sign };
    expect(verify([wrong, unknown], trusting(testSigner.key, unknown.key)).exits).toEqual([1, 1]);
  });
});

describe('a quorum of witnesses', () => {
  const witness = createMlDsaSigner('witness.example', new Uint8Array(32).fill(6)) as NoteSigner;
  const parsed = parseWitnessPolicy(`witness w ${formatVkey(witness.key)}\nquorum w\n`);
  const policy = 'policy' in parsed ? parsed.policy : undefined;

  it('of ML-DSA-44 proves, and one less is a finding', () => {
    const trust = { keys: [testSigner.key], policy };
    expect(verify([testSigner, witness], trust).exits).toEqual([0, 0]);
    expect(verify([testSigner], trust).exits).toEqual([1, 1]);
    // The log's own ML-DSA-44 key is no witness.
    expect(verify([testSigner, mlDsa], trust).exits).toEqual([1, 1]);
  });
});
