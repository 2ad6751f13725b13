import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import type { PasskeyAssertion } from '@countersign/contracts';
import type { Registration } from '../verify-registration.js';

/** The page that asks, as the browser reports it, and what the authenticator did. */
export interface Site {
  readonly rpId: string;
  readonly origin: string;
  /** Default: the authenticator verified its user. */
  readonly isVerified?: boolean;
  /** Default: no frame of another site. */
  readonly crossOrigin?: boolean;
}

/** An authenticator in software, with one passkey. */
export interface Authenticator {
  readonly credentialId: string;
  /** The COSE key, base64url. */
  readonly publicKey: string;
  readonly register: (challenge: string, site: Site) => Registration;
  readonly sign: (challenge: string, nonce: string, site: Site) => PasskeyAssertion;
}

type Algorithm = 'ES256' | 'EdDSA' | 'RS256';

/** A new authenticator. With `counts` its counter grows with each signature; most passkeys have none. */
export function createAuthenticator(algorithm: Algorithm = 'ES256', { counts = false } = {}): Authenticator {
  const { privateKey, cose } = makers[algorithm]();
  const id = randomBytes(16);
  let count = 0;
  return {
    credentialId: id.toString('base64url'),
    publicKey: cose.toString('base64url'),
    register: (challenge, site) => {
      const size = Buffer.from([0, id.length]);
      const data = Buffer.concat([head(site, 0x40, count), Buffer.alloc(16), size, id, cose]);
      const attestation = map([
        [text('fmt'), text('none')],
        [text('attStmt'), map([])],
        [text('authData'), bytes(data)],
      ]);
      return {
        credentialId: id.toString('base64url'),
        clientDataJSON: clientData('webauthn.create', challenge, site).toString('base64url'),
        attestationObject: attestation.toString('base64url'),
      };
    },
    sign: (challenge, nonce, site) => {
      if (counts) count += 1;
      const client = clientData('webauthn.get', challenge, site);
      const data = head(site, 0, count);
      const signed = Buffer.concat([data, createHash('sha256').update(client).digest()]);
      const signature = sign(algorithm === 'EdDSA' ? null : 'sha256', signed, privateKey);
      return {
        ...{ credentialId: id.toString('base64url'), nonce },
        authenticatorData: data.toString('base64url'),
        clientDataJSON: client.toString('base64url'),
        signature: signature.toString('base64url'),
      };
    },
  };
}

/** The hash of the domain, the flags (the user is there and verified), and the counter. */
function head({ rpId, isVerified = true }: Site, flags: number, count: number): Buffer {
  const counter = Buffer.alloc(4);
  counter.writeUInt32BE(count);
  const all = flags | 0x01 | (isVerified ? 0x04 : 0);
  return Buffer.concat([createHash('sha256').update(rpId).digest(), Buffer.from([all]), counter]);
}

function clientData(type: string, challenge: string, { origin, crossOrigin = false }: Site): Buffer {
  return Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin }));
}

interface MadeKey {
  readonly privateKey: KeyObject;
  readonly cose: Buffer;
}

const makers: Readonly<Record<Algorithm, () => MadeKey>> = {
  ES256: () => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
    const members = [
      ...([[int(1), int(2)] as const, [int(3), int(-7)] as const, [int(-1), int(1)] as const] as const),
      ...([[int(-2), bytes(from(x))] as const, [int(-3), bytes(from(y))] as const] as const),
    ];
    return { privateKey, cose: map(members) };
  },
  EdDSA: () => {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    const { x = '' } = publicKey.export({ format: 'jwk' });
    return {
      privateKey,
      cose: map([
        [int(1), int(1)],
        [int(3), int(-8)],
        [int(-1), int(6)],
        [int(-2), bytes(from(x))],
      ]),
    };
  },
  RS256: () => {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const { n = '', e = '' } = publicKey.export({ format: 'jwk' });
    return {
      privateKey,
      cose: map([
        [int(1), int(3)],
        [int(3), int(-257)],
        [int(-1), bytes(from(n))],
        [int(-2), bytes(from(e))],
      ]),
    };
  },
};

const from = (base64url: string): Buffer => Buffer.from(base64url, 'base64url');

/** The head of a CBOR item: its kind and its size or value. */
function item(kind: number, value: number): Buffer {
  if (value < 24) return Buffer.from([(kind << 5) | value]);
  if (value < 256) return Buffer.from([(kind << 5) | 24, value]);
  return Buffer.from([(kind << 5) | 25, value >> 8, value & 255]);
}

const int = (value: number): Buffer => (value < 0 ? item(1, -1 - value) : item(0, value));
const bytes = (value: Buffer): Buffer => Buffer.concat([item(2, value.length), value]);
const text = (value: string): Buffer => Buffer.concat([item(3, Buffer.byteLength(value)), Buffer.from(value)]);
const map = (members: readonly (readonly [Buffer, Buffer])[]): Buffer =>
  Buffer.concat([item(5, members.length), ...members.flat()]);
