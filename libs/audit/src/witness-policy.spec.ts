import { generateKeyPairSync, sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { formatCheckpoint } from './checkpoint.js';
import { cosignedMessage, cosignedText, formatTimestamped } from './cosignature.js';
import { createEd25519Signer } from './log-key.js';
import { signNote, verifyNote } from './note.js';
import { formatVkey, keyTypes, verifierKey } from './verifier-key.js';
import type { VerifierKey } from './verifier-key.js';
import { parseWitnessPolicy } from './witness-policy.js';
import type { WitnessPolicy } from './witness-policy.js';

const bytes = (of: number): Uint8Array => new Uint8Array(32).fill(of);
const witness = (of: number): VerifierKey => verifierKey(`w${String(of)}.example`, keyTypes.cosignature, bytes(of));
const vkey = (of: number): string => formatVkey(witness(of));
const log = formatVkey(verifierKey('log.example', keyTypes.ed25519, bytes(99)));

function policyOf(text: string): WitnessPolicy {
  const parsed = parseWitnessPolicy(text);
  if ('problem' in parsed) throw new Error(parsed.problem);
  return parsed.policy;
}

const problemOf = (text: string): string => {
  const parsed = parseWitnessPolicy(text);
  return 'problem' in parsed ? parsed.problem : 'none';
};

describe('a policy of witnesses', () => {
  it('reads the two levels of groups of the specification', () => {
    const lines = [1, 2, 3].flatMap((of) => [
      `witness X${String(of)} ${vkey(of)}`,
      `witness Y${String(of)} ${vkey(of + 3)}\thttps://w/`,
    ]);
    const { isQuorum, ...policy } = policyOf(
      [
        '# a comment',
        `log ${log} https://log.example/`,
        '',
        ...lines,
        'group X 2 X1 X2 X3',
        '  group Y any Y1 Y2 Y3 ',
        'group both all X Y',
        'quorum both',
      ].join('\n'),
    );
    expect(policy.logs.map(({ url }) => url)).toEqual(['https://log.example/']);
    expect(policy.witnesses).toHaveLength(6);
    expect(policy.hasQuorum).toBe(true);
    expect(isQuorum([1, 2, 4].map(witness))).toBe(true);
    expect(isQuorum([1, 4, 5, 6].map(witness))).toBe(false);
    expect(isQuorum([1, 2, 3].map(witness))).toBe(false);
    // One witness three times is one witness.
    expect(isQuorum([1, 1, 1, 4].map(witness))).toBe(false);
    // The same key under another name is another key.
    expect(isQuorum([witness(1), { ...witness(2), name: 'other' }, witness(4)])).toBe(false);
  });

  it('needs no witness with `quorum none`', () => {
    const policy = policyOf('quorum none');
    expect(policy.isQuorum([])).toBe(true);
    expect(policy.hasQuorum).toBe(false);
  });

  it.each([
    ['', 'no quorum line'],
    ['quorum none\nquorum none', 'line 2: there is a quorum line already'],
    ['quorum X', 'line 1: "X" is not defined'],
    [`quorum X\nwitness X ${vkey(1)}`, 'line 1: "X" is not defined'],
    [`witness none ${vkey(1)}`, '"none"'],
    [`witness X ${vkey(1)}\nwitness X ${vkey(2)}`, 'line 2: "X" is defined already'],
    [
      `witness X ${vkey(1)}\nwitness Y ${formatVkey({ ...verifierKey('other', keyTypes.cosignature, bytes(1)) })}`,
      'earlier line',
    ],
    [`witness X ${log}`, 'has type 1'],
    [`log ${vkey(1)}`, 'has type 4'],
    ['witness X nothing', 'is no vkey'],
    [`witness X ${vkey(1)} https://w/ more`, 'nothing else'],
    [`witness X ${vkey(1)}\ngroup G all`, 'line 2'],
    [`witness X ${vkey(1)}\ngroup G 2 X`, 'from 1 to 1'],
    [`witness X ${vkey(1)}\ngroup G 01 X`, 'from 1 to 1'],
    [`witness X ${vkey(1)}\ngroup G any X X`, 'is a member of a group already'],
    [`witness X ${vkey(1)}\ngroup G any X\ngroup H any X`, 'line 3: "X" is a member'],
    ['group G any G', 'line 1: "G" is not defined'],
    [`witness X ${vkey(1)}\r\nquorum X`, 'line 1: it has a control character'],
    ['threshold 2', 'none of log, witness, group and quorum'],
  ])('refuses %j', (text, problem) => {
    expect(problemOf(text)).toContain(problem);
  });
});

const text = formatCheckpoint({ origin: 'log.example/acme/1', size: 5, root: bytes(7), extensions: [] });
const rawOf = (publicKey: KeyObject, count: number): Uint8Array =>
  publicKey.export({ format: 'der', type: 'spki' }).subarray(-count);

describe('a cosignature', () => {
  it.each(['Ed25519', 'ML-DSA-44'] as const)('of %s counts for its time, its text and its cosigner alone', (kind) => {
    const [isEd, name] = [kind === 'Ed25519', 'w.example'];
    const { privateKey, publicKey } = isEd ? generateKeyPairSync('ed25519') : generateKeyPairSync('ml-dsa-44');
    const key = isEd
      ? verifierKey(name, keyTypes.cosignature, rawOf(publicKey, 32))
      : verifierKey(name, keyTypes.mlDsaCosignature, rawOf(publicKey, 1312));
    const time = 1_679_315_147n;
    const message = isEd ? Buffer.from(cosignedText(text, time)) : cosignedMessage(name, text, time)!;
    const signature = formatTimestamped({ time, signature: sign(null, message, privateKey) });
    const noteOf = (signed: string, made: Uint8Array) => ({
      text: signed,
      signatures: [{ name, id: key.id, signature: made }],
    });
    expect(verifyNote(noteOf(text, signature), [key]).verified).toEqual([key]);
    const later = Uint8Array.from(signature);
    later[7] = (later[7] ?? 0) ^ 1;
    expect(verifyNote(noteOf(text, later), [key]).refuted).toEqual([key]);
    expect(verifyNote(noteOf(text.replace('\n5\n', '\n6\n'), signature), [key]).refuted).toEqual([key]);
    expect(verifyNote(noteOf(text, signature.subarray(0, 8)), [key]).refuted).toEqual([key]);
  });

  it('is none when it is the signature of the text itself', () => {
    const { key, sign: signText } = createEd25519Signer('w.example', bytes(3));
    const cosigner = verifierKey('w.example', keyTypes.cosignature, key.key);
    const { signatures } = signNote(text, [{ key: cosigner, sign: signText }]);
    expect(verifyNote({ text, signatures }, [cosigner]).refuted).toEqual([cosigner]);
  });
});
