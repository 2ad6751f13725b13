import { hash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { formatCheckpoint } from './checkpoint.js';
import { createEd25519Signer, createMlDsaSigner, deriveMlDsaSeed, deriveSeed } from './log-key.js';
import { signNote, verifyNote } from './note.js';
import { encodeTenant, formatOrigin, parseOrigin } from './origin.js';
import { formatVkey, isKeyName, keyTypes } from './verifier-key.js';

describe('origin', () => {
  it('names log, tenant and epoch', () => {
    const origin = formatOrigin({ base: 'countersign.example/log', tenant: 'Zoë & co/1', epoch: 2 });
    expect(origin).toBe('countersign.example/log/Zo%C3%AB%20%26%20co%2F1/2');
    expect(parseOrigin(origin)).toEqual({
      base: 'countersign.example/log',
      encodedTenant: encodeTenant('Zoë & co/1'),
      epoch: 2,
    });
  });

  it('shortens a tenant whose encoded form is longer than 200 bytes', () => {
    expect(encodeTenant('a'.repeat(200))).toBe('a'.repeat(200));
    expect(encodeTenant('a'.repeat(201))).toMatch(/^~[0-9a-f]{32}$/);
    expect(encodeTenant('ë'.repeat(40))).toMatch(/^~[0-9a-f]{32}$/);
  });

  it('is the name of a key for every tenant, and another one for another tenant', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 80 }), fc.string({ maxLength: 80 }), (one, other) => {
        expect(isKeyName(formatOrigin({ base: 'a.example', tenant: one, epoch: 1 }))).toBe(true);
        expect(encodeTenant(one) === encodeTenant(other)).toBe(one === other);
      }),
    );
  });

  it.each(['countersign.example', 'a/b/0', 'a/b/01', '/b/1'])('is not read from another name (%s)', (origin) => {
    expect(parseOrigin(origin)).toBeUndefined();
  });
});

describe('key of a tenant', () => {
  it('is derived from the log key and the whole name', () => {
    const seed = Uint8Array.from({ length: 32 }, (_, index) => index + 1);
    const vkeyOf = (name: string): string => formatVkey(createEd25519Signer(name, deriveSeed(seed, name)).key);
    expect(Buffer.from(deriveSeed(seed, 'countersign.example/acme/1')).toString('hex')).toBe(goldenSeed);
    expect(vkeyOf('countersign.example/acme/1')).toBe(goldenVkey);
    expect(vkeyOf('countersign.example/acme/2')).not.toContain(goldenVkey.slice(-43));
  });
});

describe('ML-DSA-44 key of a tenant', () => {
  const name = 'countersign.example/acme/1';
  const seed = Uint8Array.from({ length: 32 }, (_, index) => index + 1);

  it('is derived from the log key and the whole name', () => {
    const { key } = createMlDsaSigner(name, deriveMlDsaSeed(seed, name))!;
    expect({ type: key.type, length: key.key.length, digest: hash('sha256', formatVkey(key)) }).toEqual({
      ...{ type: keyTypes.mlDsaCosignature, length: 1312, digest: goldenMlDsaDigest },
    });
  });

  it('signs a checkpoint under its name, and nothing else', () => {
    const signer = createMlDsaSigner(name, deriveMlDsaSeed(seed, name))!;
    const root = new Uint8Array(32);
    const text = formatCheckpoint({ origin: name, size: 5, root, extensions: [] });
    const note = signNote(text, [signer]);
    expect(verifyNote(note, [signer.key]).verified).toEqual([signer.key]);
    const other = formatCheckpoint({ origin: name, size: 6, root, extensions: [] });
    expect(verifyNote({ ...note, text: other }, [signer.key]).refuted).toEqual([signer.key]);
    expect(verifyNote(signNote('a text\n', [signer]), [signer.key]).refuted).toEqual([signer.key]);
  });

  it('is not there for a name that its messages have no room for', () => {
    expect(createMlDsaSigner('a'.repeat(255), seed)).toBeDefined();
    expect(createMlDsaSigner('a'.repeat(256), seed)).toBeUndefined();
  });
});

const goldenMlDsaDigest = '8d3277bd4664c36f7be67cff9c73787d38886faccdc8f2eb0ffd19a25005829f';
const goldenSeed = '92b933363cec1642f1e83c69978253ec263c57886d701c638f2108a5d9ad5770';
const goldenVkey = 'countersign.example/acme/1+8d33562e+AdSpgGNZx9Qh0jyAaRQwdxLjDXzM7mSFYJie8JaedLrc';
