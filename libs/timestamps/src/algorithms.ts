import { constants, createHash, verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import type { AlgorithmIdentifier } from '@peculiar/asn1-x509';
import { demand } from './refused.js';

export const sha256 = '2.16.840.1.101.3.4.2.1';

/** The hashes that count. SHA-1 and MD5 do not: two contents with one hash can be made. */
const hashes: Readonly<Record<string, string>> = {
  [sha256]: 'sha256',
  '2.16.840.1.101.3.4.2.2': 'sha384',
  '2.16.840.1.101.3.4.2.3': 'sha512',
};

/** How a signature is made, and with which hash; null: with that of the message digest. */
const signatures: Readonly<Record<string, { readonly type: string; readonly hash: string | null }>> = {
  '1.2.840.113549.1.1.1': { type: 'rsa', hash: null },
  '1.2.840.113549.1.1.11': { type: 'rsa', hash: 'sha256' },
  '1.2.840.113549.1.1.12': { type: 'rsa', hash: 'sha384' },
  '1.2.840.113549.1.1.13': { type: 'rsa', hash: 'sha512' },
  // With another hash or another padding than the message digest has, the signature does not verify.
  '1.2.840.113549.1.1.10': { type: 'rsa-pss', hash: null },
  '1.2.840.10045.4.3.2': { type: 'ec', hash: 'sha256' },
  '1.2.840.10045.4.3.3': { type: 'ec', hash: 'sha384' },
  '1.2.840.10045.4.3.4': { type: 'ec', hash: 'sha512' },
  '1.3.101.112': { type: 'ed25519', hash: null },
};

/** The name of a hash in Node. @throws Refused for one that does not count */
export function hashNamed({ algorithm }: Pick<AlgorithmIdentifier, 'algorithm'>): string {
  const name = hashes[algorithm];
  demand(name !== undefined, `its hash ${algorithm} does not count: it must be SHA-256, SHA-384 or SHA-512`);
  return name;
}

export function digestOf(hash: string, bytes: Uint8Array): Buffer {
  return createHash(hash).update(bytes).digest();
}

/** Returns whether certificates may be signed so. */
export function isStrongSignature(algorithm: string): boolean {
  const { hash } = signatures[algorithm] ?? {};
  return hash !== undefined && (hash !== null || algorithm !== '1.2.840.113549.1.1.1');
}

/** @throws Refused unless the key is strong enough */
export function demandStrongKey(key: KeyObject): void {
  const { modulusLength } = key.asymmetricKeyDetails ?? {};
  demand(modulusLength === undefined || modulusLength >= 2048, 'a key of RSA in it has less than 2048 bits');
}

/** @throws Refused unless the key signed these bytes */
export function demandSignature(
  { algorithm }: Pick<AlgorithmIdentifier, 'algorithm'>,
  messageHash: string,
  { key, signed, signature }: { readonly key: KeyObject; readonly signed: Uint8Array; readonly signature: Uint8Array },
): void {
  const scheme = signatures[algorithm];
  demand(scheme !== undefined, `its signature ${algorithm} does not count`);
  const type = key.asymmetricKeyType;
  demand(
    type === scheme.type || (type === 'rsa' && scheme.type === 'rsa-pss'),
    'its signature is of another kind of key',
  );
  const hash = scheme.type === 'ed25519' ? null : (scheme.hash ?? messageHash);
  const isPss = scheme.type === 'rsa-pss';
  const pss = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_AUTO };
  demand(verify(hash, signed, { key, ...(isPss && pss) }, signature), 'its signature is broken');
}
