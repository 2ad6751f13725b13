import { createPrivateKey, KeyObject, sign } from 'node:crypto';
import type { RequestSigning } from './options.js';

/** The signed parts of a message besides its value. */
export interface SignedHeader {
  readonly ce_id: string;
  readonly ce_type: string;
  /** Seconds since the epoch. */
  readonly iat: number;
}

/** Signs the value of a message: a detached JWS (RFC 7515, appendix F). */
export type RequestSigner = (value: string, header: SignedHeader) => string;

/** The header that carries the signature. */
export const signatureHeader = 'countersign-signature';

/**
 * A signer for the messages of one topic, with an Ed25519 (`EdDSA`) or P-256 (`ES256`) key.
 * @throws TypeError for any other key.
 */
export function createRequestSigner(
  { kid, privateKey, tenant = 'default' }: RequestSigning,
  requestsTopic: string,
): RequestSigner {
  const key = typeof privateKey === 'string' ? createPrivateKey(privateKey) : privateKey;
  if (!(key instanceof KeyObject)) throw notAKey();
  const alg = algorithmOf(key);
  const aud = `${tenant}/${requestsTopic}`;
  return (value, { ce_id, ce_type, iat }) => {
    const header = base64url(JSON.stringify({ alg, kid, aud, iat, ce_id, ce_type }));
    const input = Buffer.from(`${header}.${base64url(value)}`);
    // JWS has the two numbers of an ECDSA signature side by side, not the DER that Node makes unasked.
    const signature =
      alg === 'EdDSA' ? sign(null, input, key) : sign('sha256', input, { key, dsaEncoding: 'ieee-p1363' });
    return `${header}..${signature.toString('base64url')}`;
  };
}

function algorithmOf(key: KeyObject): 'EdDSA' | 'ES256' {
  if (key.type === 'private') {
    if (key.asymmetricKeyType === 'ed25519') return 'EdDSA';
    if (key.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === 'prime256v1') return 'ES256';
  }
  throw notAKey();
}

const notAKey = (): TypeError => new TypeError('kafka.signing.privateKey must be a private Ed25519 or P-256 key');

function base64url(text: string): string {
  return Buffer.from(text).toString('base64url');
}
