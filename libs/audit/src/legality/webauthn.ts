import { createPublicKey, hash, verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { canonicalForm } from '../canonical.js';
import { coseKey } from './cose-key.js';

/** What a passkey signed, as it is recorded: base64url. */
interface Assertion {
  readonly authenticatorData: string;
  readonly clientDataJSON: string;
  readonly signature: string;
}

/** The key that is said to have signed. */
interface Key {
  readonly publicKey: string;
  readonly rpId: string;
  readonly origin: string;
}

/** The places in the authenticator data: the hash of the domain, the flags, the counter. */
const [flagsAt, lengthMin] = [32, 37];
const [userPresent, userVerified] = [0x01, 0x04];

/**
 * Returns why an assertion does not hold; undefined: it does. `signed` is what the challenge is the hash of. Written from the
 * WebAuthn standard, with code of its own: a fault of the server's library cannot hide itself.
 */
export function brokenAssertion(assertion: Assertion, signed: unknown, key: Key): string | undefined {
  const [data, client, signature] = [assertion.authenticatorData, assertion.clientDataJSON, assertion.signature].map(
    bytesOf,
  );
  if (data === undefined || client === undefined || signature === undefined) return 'it is not base64url';
  const publicKey = keyOf(key.publicKey);
  if (publicKey === undefined) return 'the registered key cannot be read';
  const wanted = sha256(canonicalForm(signed)).toString('base64url');
  return (
    brokenClient(client, wanted, key.origin) ??
    brokenData(data, key.rpId) ??
    (isSigned(publicKey, Buffer.concat([data, sha256(client)]), signature) ? undefined : 'the passkey did not sign it')
  );
}

function brokenClient(client: Buffer, challenge: string, origin: string): string | undefined {
  const read = parsed(client);
  if (read?.['type'] !== 'webauthn.get') return 'the browser did not ask for a signature';
  if (read['challenge'] !== challenge) return 'it signs something else';
  if (read['origin'] !== origin) return 'it was made on another origin';
  const isFramed = read['crossOrigin'] === true || read['topOrigin'] !== undefined;
  return isFramed ? 'a page of another site asked for it' : undefined;
}

function sha256(bytes: Buffer | string): Buffer {
  return Buffer.from(hash('sha256', bytes, 'hex'), 'hex');
}

function parsed(client: Buffer): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(client.toString('utf8'));
    return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    return undefined;
  }
}

function brokenData(data: Buffer, rpId: string): string | undefined {
  const flags = data.at(flagsAt) ?? 0;
  if (data.length < lengthMin) return 'its authenticator data are too short';
  if (!data.subarray(0, flagsAt).equals(sha256(rpId))) return 'it was made for another domain';
  const isVerified = (flags & userPresent) !== 0 && (flags & userVerified) !== 0;
  return isVerified ? undefined : 'the authenticator did not verify its user';
}

/** The bytes of a base64url text that is written in the one way that there is. */
function bytesOf(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url');
  return bytes.toString('base64url') === text ? bytes : undefined;
}

interface PublicKey {
  readonly key: KeyObject;
  /** Null: the signature has a hash of its own. */
  readonly digest: 'sha256' | null;
}

function keyOf(publicKey: string): PublicKey | undefined {
  const bytes = bytesOf(publicKey);
  const jwk = bytes === undefined ? undefined : coseKey(bytes);
  if (jwk === undefined) return undefined;
  try {
    return { key: createPublicKey({ key: { ...jwk }, format: 'jwk' }), digest: jwk.kty === 'OKP' ? null : 'sha256' };
  } catch {
    return undefined;
  }
}

function isSigned({ key, digest }: PublicKey, bytes: Buffer, signature: Buffer): boolean {
  try {
    return verify(digest, bytes, key, signature);
  } catch {
    return false;
  }
}
