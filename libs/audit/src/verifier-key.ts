import { hash } from 'node:crypto';
import { fromBase64, toBase64 } from './base64.js';
import { isEd25519Cosignature, isEd25519Signature, isMlDsaCosignature } from './cosignature.js';

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
  return verifierKey(name, keyTypes.ed25519, key);
}

/** The key of this name and type, from its public bytes. */
export function verifierKey(name: string, type: number, key: Uint8Array): VerifierKey {
  return { name, id: keyIdOf(name, type, key), type, key };
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

/**
 * Returns whether this key signed the text, or cosigned it as a checkpoint; undefined for a type of key that is not known
 * here, or that the runtime does not have.
 */
export function isSignedBy(key: VerifierKey, text: string, signature: Uint8Array): boolean | undefined {
  switch (key.type) {
    case keyTypes.ed25519:
      return isEd25519Signature(key.key, text, signature);
    case keyTypes.cosignature:
      return isEd25519Cosignature(key, text, signature);
    case keyTypes.mlDsaCosignature:
      return isMlDsaCosignature(key, text, signature);
    default:
      return undefined;
  }
}

function keyIdOf(name: string, type: number, key: Uint8Array): string {
  return hash('sha256', Buffer.concat([Buffer.from(`${name}\n`), Buffer.of(type), key]), 'hex').slice(0, 8);
}
