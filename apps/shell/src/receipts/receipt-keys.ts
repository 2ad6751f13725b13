import { createPrivateKey, createPublicKey, hash, hkdfSync, sign, verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { createLruMap } from '@countersign/runtime';

/** A public key of receipts, as in a JSON Web Key Set (RFC 7517, RFC 8037). */
export interface ReceiptJwk {
  readonly kty: 'OKP';
  readonly crv: 'Ed25519';
  readonly x: string;
  /** The thumbprint of the key (RFC 7638). */
  readonly kid: string;
  readonly use: 'sig';
  readonly alg: 'EdDSA';
}

/** A key of one tenant. */
export interface ReceiptKey {
  readonly jwk: ReceiptJwk;
  /** The signature of a text, in base64url. */
  readonly sign: (text: string) => string;
  readonly isSigned: (text: string, signature: Buffer) => boolean;
}

/** The keys of all tenants. */
export interface ReceiptKeys {
  /** The keys of a tenant. The first one signs; the others are published alone. */
  readonly of: (tenant: string) => readonly [ReceiptKey, ...ReceiptKey[]];
}

/** The keys that are derived are kept for the tenants asked for last: the key set is public, so any name may be asked for. */
const tenantsMax = 256;

/** The keys that derive from the seeds of Ed25519 keys, the one that signs first. */
export function createReceiptKeys([first, ...others]: readonly [Uint8Array, ...Uint8Array[]]): ReceiptKeys {
  const known = createLruMap<readonly [ReceiptKey, ...ReceiptKey[]]>(tenantsMax);
  return {
    of: (tenant) => {
      const kept = known.get(tenant);
      if (kept !== undefined) return kept;
      const keys = [toKey(first, tenant), ...others.map((seed) => toKey(seed, tenant))] as const;
      known.set(tenant, keys);
      return keys;
    },
  };
}

/** The DER bytes of a PKCS#8 private key before the 32 bytes of an Ed25519 seed. */
const pkcs8Prefix = Buffer.from('302e020100300506032b657004220420', 'hex');

/** A stored format: tools keep the public keys. Each tenant has its own key, so a tool of one never accepts another's. */
function toKey(seed: Uint8Array, tenant: string): ReceiptKey {
  const derived = Buffer.from(hkdfSync('sha256', seed, '', `countersign receipt ${tenant}`, 32));
  const privateKey = createPrivateKey({ key: Buffer.concat([pkcs8Prefix, derived]), format: 'der', type: 'pkcs8' });
  const publicKey = createPublicKey(privateKey);
  return {
    jwk: toJwk(publicKey),
    sign: (text) => sign(null, Buffer.from(text), privateKey).toString('base64url'),
    isSigned: (text, signature) => verify(null, Buffer.from(text), publicKey, signature),
  };
}

function toJwk(publicKey: KeyObject): ReceiptJwk {
  const { x = '' } = publicKey.export({ format: 'jwk' });
  const kid = hash('sha256', `{"crv":"Ed25519","kty":"OKP","x":"${x}"}`, 'base64url');
  return { kty: 'OKP', crv: 'Ed25519', x, kid, use: 'sig', alg: 'EdDSA' };
}
