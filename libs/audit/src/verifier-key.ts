import { createPublicKey, hash, verify } from 'node:crypto';
import { fromBase64, toBase64 } from './base64.js';

/** The types of keys in C2SP's signed notes. */
export const keyTypes = { ed25519: 0x01, cosignature: 0x04, mlDsaCosignature: 0x06 } as const;

/** A public key of a signed note, by which signatures are found and verified. */
export interface VerifierKey {
  readonly name: string;
  /** 8 hex digits. A signature names its key by them. */
  readonly id: string;
  /** See {@link keyTypes}; one that is not in the list verifies nothing. */
  readonly type: number;
  readonly key: Uint8Array;
}

/** The Ed25519 key of this name, from its 32 public bytes. */
export function ed25519Key(name: string, key: Uint8Array): VerifierKey {
  return { name, id: keyIdOf(name, keyTypes.ed25519, key), type: keyTypes.ed25519, key };
}

/** The key as one line of text, a vkey: `<name>+<id>+<base64 of type and key>`. */
export function formatVkey({ name, id, type, key }: VerifierKey): string {
  return `${name}+${id}+${toBase64(Buffer.concat([Buffer.of(type), key]))}`;
}

/** Reads a vkey. Undefined for a text that is none, and for one whose id is not that of its name and key. */
export function parseVkey(vkey: string): VerifierKey | undefined {
  const [name, id, encoded, ...rest] = vkey.split('+');
  if (name === undefined || id === undefined || encoded === undefined || !isKeyName(name)) return undefined;
  // The alphabet of base64 has a plus too.
  const bytes = fromBase64([encoded, ...rest].join('+'));
  const type = bytes?.[0];
  if (bytes === undefined || type === undefined) return undefined;
  const key = bytes.subarray(1);
  return id === keyIdOf(name, type, key) ? { name, id, type, key } : undefined;
}

/** Returns whether a text can be the name of a key: not empty, without white space, control characters and plus. */
export function isKeyName(name: string): boolean {
  return name !== '' && name.isWellFormed() && !/[\s\p{Cc}+]/u.test(name);
}

/** Returns whether this key signed the text; undefined for a type of key that is not known here. */
export function isSignedBy(key: VerifierKey, text: string, signature: Uint8Array): boolean | undefined {
  if (key.type !== keyTypes.ed25519) return undefined;
  if (key.key.length !== ed25519Bytes) return false;
  const spki = Buffer.concat([ed25519SpkiPrefix, key.key]);
  const publicKey = createPublicKey({ key: spki, format: 'der', type: 'spki' });
  return verify(null, Buffer.from(text), publicKey, signature);
}

const ed25519Bytes = 32;
/** The DER bytes of a SubjectPublicKeyInfo before the 32 bytes of an Ed25519 key. */
const ed25519SpkiPrefix = Buffer.from('302a300506032b6570032100', 'hex');

function keyIdOf(name: string, type: number, key: Uint8Array): string {
  return hash('sha256', Buffer.concat([Buffer.from(`${name}\n`), Buffer.of(type), key]), 'hex').slice(0, 8);
}
