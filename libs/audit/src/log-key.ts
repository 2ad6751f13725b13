import { createPrivateKey, createPublicKey, hkdfSync, sign } from 'node:crypto';
import type { NoteSigner } from './note.js';
import { ed25519Key } from './verifier-key.js';

/** The bytes of an Ed25519 seed. */
export const seedBytes = 32;

/**
 * The seed of the key that signs under this name, a stored format: HKDF-SHA-256 of the log key's seed, without salt, with
 * the info `countersign log ` and the key name. So each tenant and each epoch has its own key.
 */
export function deriveSeed(logSeed: Uint8Array, keyName: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', logSeed, '', `countersign log ${keyName}`, seedBytes));
}

/** A signer with an Ed25519 key, from its seed of 32 bytes. */
export function createEd25519Signer(keyName: string, seed: Uint8Array): NoteSigner {
  const pkcs8 = Buffer.concat([ed25519Pkcs8Prefix, seed]);
  const privateKey = createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' });
  const spki = createPublicKey(privateKey).export({ format: 'der', type: 'spki' });
  return {
    key: ed25519Key(keyName, spki.subarray(-seedBytes)),
    sign: (text) => sign(null, Buffer.from(text), privateKey),
  };
}

/** The DER bytes of a PKCS#8 private key before the 32 bytes of an Ed25519 seed. */
const ed25519Pkcs8Prefix = Buffer.from('302e020100300506032b657004220420', 'hex');
