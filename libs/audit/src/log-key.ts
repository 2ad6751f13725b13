import { createPrivateKey, createPublicKey, hkdfSync, sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { cosignedMessage, formatTimestamped, mlDsaKeyBytes } from './cosignature.js';
import type { NoteSigner } from './note.js';
import { ed25519Key, keyTypes, verifierKey } from './verifier-key.js';

/** The bytes of a seed, of Ed25519 and of ML-DSA-44. */
export const seedBytes = 32;

/**
 * The seed of the key that signs under this name, a stored format: HKDF-SHA-256 of the log key's seed, without salt, with
 * the info `countersign log ` and the key name. So each tenant and each epoch has its own key.
 */
export function deriveSeed(logSeed: Uint8Array, keyName: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', logSeed, '', `countersign log ${keyName}`, seedBytes));
}

/** The seed of the ML-DSA-44 key that signs under this name, a stored format: as {@link deriveSeed}, with `ml-dsa-44 ` before the key name. */
export function deriveMlDsaSeed(logSeed: Uint8Array, keyName: string): Uint8Array {
  // A key name has no space, so this is the info of no Ed25519 key.
  return deriveSeed(logSeed, `ml-dsa-44 ${keyName}`);
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

/**
 * A signer of checkpoints with an ML-DSA-44 key, from its seed of 32 bytes. It signs as a cosigner that does not say when. Undefined
 * where the runtime does not have ML-DSA, and for a key name that is too long for its messages.
 */
export function createMlDsaSigner(keyName: string, seed: Uint8Array): NoteSigner | undefined {
  const privateKey = mlDsaKeyOf(seed);
  if (privateKey === undefined || Buffer.byteLength(keyName) > nameBytesMax) return undefined;
  const spki = createPublicKey(privateKey).export({ format: 'der', type: 'spki' });
  return {
    key: verifierKey(keyName, keyTypes.mlDsaCosignature, spki.subarray(-mlDsaKeyBytes)),
    sign: (text) => {
      // A text that is no checkpoint has no message: then this verifies nothing.
      const message = cosignedMessage(keyName, text, noTime) ?? Buffer.alloc(0);
      return formatTimestamped({ time: noTime, signature: sign(null, message, privateKey) });
    },
  };
}

const noTime = 0n;
const nameBytesMax = 255;

/** The DER bytes of a PKCS#8 private key before the 32 bytes of an ML-DSA-44 seed. */
const mlDsaPkcs8Prefix = Buffer.from('3034020100300b060960864801650304031104228020', 'hex');

function mlDsaKeyOf(seed: Uint8Array): KeyObject | undefined {
  try {
    return createPrivateKey({ key: Buffer.concat([mlDsaPkcs8Prefix, seed]), format: 'der', type: 'pkcs8' });
  } catch {
    return undefined;
  }
}
