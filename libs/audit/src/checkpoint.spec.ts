import { describe, expect, it } from '@jest/globals';
import { formatCheckpoint, parseCheckpoint } from './checkpoint.js';
import { leafHash } from './hashes.js';
import { createEd25519Signer, deriveSeed } from './log-key.js';
import { formatNote, parseNote, signNote, verifyNote } from './note.js';
import { createGrowingTree } from './tree.js';
import { formatVkey, parseVkey } from './verifier-key.js';

const origin = 'countersign.example/log';
const signer = createEd25519Signer(
  origin,
  Uint8Array.from({ length: 32 }, (_, index) => index + 1),
);

// These bytes were accepted by golang.org/x/mod/sumdb/note and transparency-dev/formats.
const goldenVkey = 'countersign.example/log+3b74097a+AXm1Vi6P5lT5QHixEuipi6eQH4U65pW+1+DjkQutBJZk';
const golden = `countersign.example/log
5
C3TUMA55gFbNSHKLT7AenxWtPgp5UPvFiXT/Z1MnHSQ=

\u2014 countersign.example/log O3QJejyhfxnA+qpcgUd3aPohTYo9XXRPvze2qjcJBEJH/CCAR8dZSOF5c3xqoNe981amZz/cZMDlUmAItJViZD4GaAI=
`;

function goldenCheckpoint(): string {
  const tree = createGrowingTree();
  for (const index of [0, 1, 2, 3, 4]) tree.append(leafHash(`event-${index}`));
  return formatCheckpoint({ origin, size: 5, root: tree.root(), extensions: [] });
}

describe('checkpoint', () => {
  it('has the bytes that other programs read', () => {
    expect(formatNote(signNote(goldenCheckpoint(), [signer]))).toBe(golden);
    expect(formatVkey(signer.key)).toBe(goldenVkey);
  });

  it('is read back and verified by its vkey', () => {
    const note = parseNote(golden)!;
    expect(parseCheckpoint(note.text)).toMatchObject({ origin, size: 5, extensions: [] });
    const verdict = verifyNote(note, [parseVkey(goldenVkey)!]);
    expect(verdict).toMatchObject({ verified: [{ name: origin }], refuted: [], unknown: [] });
    expect(formatNote(note)).toBe(golden);
  });

  it.each([
    'a\n01\nC3TUMA55gFbNSHKLT7AenxWtPgp5UPvFiXT/Z1MnHSQ=\n',
    'a\n5\nC3Q=\n',
    'a\n5\n',
    '\n5\n',
    'a\n9007199254740993\nC3TUMA55gFbNSHKLT7AenxWtPgp5UPvFiXT/Z1MnHSQ=\n',
  ])('is not read from another text (%j)', (text) => {
    expect(parseCheckpoint(text)).toBeUndefined();
  });

  it('names the key whose signature is of another text', () => {
    const forged = { ...parseNote(golden)!, text: goldenCheckpoint().replace('\n5\n', '\n6\n') };
    expect(verifyNote(forged, [signer.key])).toMatchObject({ verified: [], refuted: [{ name: origin }] });
  });

  it('keeps signatures of unknown keys apart', () => {
    const other = createEd25519Signer(origin, deriveSeed(new Uint8Array(32), origin));
    const note = signNote(goldenCheckpoint(), [signer, other]);
    expect(verifyNote(note, [signer.key])).toMatchObject({
      verified: [{ name: origin }],
      unknown: [{ id: other.key.id }],
    });
  });
});

describe('vkey', () => {
  it.each([
    ['another name', goldenVkey.replace('countersign.', 'countersigned.')],
    ['another id', goldenVkey.replace('3b74097a', '3b74097b')],
    ['another key', goldenVkey.replace('AXm1', 'AXm2')],
    ['no key', 'name+3b74097a+'],
  ])('is refused with %s', (_what, vkey) => {
    expect(parseVkey(vkey)).toBeUndefined();
  });
});

describe('signed note', () => {
  it.each([
    ['no signature', 'text\n\n'],
    ['no blank line', golden.replace('\n\n', '\n')],
    ['no last newline', golden.slice(0, -1)],
    ['a control character', golden.replace('\n5\n', '\n5\r\n')],
    ['a signature in another form of base64', golden.replace('aAI=', 'aAJ=')],
    ['a hyphen in the place of the dash', golden.replace('\u2014', '-')],
  ])('is refused with %s', (_what, note) => {
    expect(parseNote(note)).toBeUndefined();
  });
});
