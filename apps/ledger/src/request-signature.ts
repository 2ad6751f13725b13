import { flattenedVerify } from 'jose';
import type { Envelope } from './envelope.js';
import type { RequestKey, RequestKeys } from './request-keys.js';

/** The largest difference between the time of a signature and now. */
export interface SignatureWindow {
  /** A request may wait on the topic while the ledger is down, so this is long; a repeat adds nothing anyway. */
  readonly ageMsMax: number;
  /** How far the signer's clock may be ahead. */
  readonly aheadMsMax: number;
}

const defaultWindow: SignatureWindow = { ageMsMax: 24 * 60 * 60 * 1000, aheadMsMax: 5 * 60 * 1000 };

/** The key that signed a request, or why the signature does not count. `late`: it counted once, and is too old now. */
export type Verified =
  | { readonly status: 'verified'; readonly key: RequestKey }
  | { readonly status: 'late'; readonly key: RequestKey; readonly why: string }
  | { readonly status: 'unverified'; readonly why: string };

const unverified = (why: string): Verified => ({ status: 'unverified', why });

/**
 * Checks a detached JWS (RFC 7515, appendix F) over the bytes of a value: `<protected>..<signature>`. The protected
 * header names the message and its audience, the tenant and the topic, so that a signature is good for no other message
 * and on no other installation.
 */
export async function verifyRequest(
  { id, type, topic, signature = '' }: Envelope,
  value: Uint8Array,
  keys: RequestKeys,
  now: number,
  window: SignatureWindow = defaultWindow,
): Promise<Verified> {
  const jws = readDetached(signature);
  if (jws === undefined) return unverified('the signature is not a detached JWS with a JSON header');
  const { header } = jws;
  const key = typeof header['kid'] === 'string' ? keys.find(header['kid']) : undefined;
  if (key === undefined) return unverified('the key that signed is not known');
  // Attack: a key used with another algorithm than its own, or with none.
  if (header['alg'] !== key.alg) return unverified(`the key signs with ${key.alg} alone`);
  try {
    const payload = Buffer.from(value).toString('base64url');
    await flattenedVerify({ ...jws.parts, payload }, key.key, { algorithms: [key.alg] });
  } catch {
    return unverified('the signature does not fit the value');
  }
  const audience = `${key.tenant}/${topic}`;
  const why = checkClaims(header, { id, type, audience });
  return why === undefined ? checkTime(header['iat'], key, now, window) : unverified(why);
}

interface DetachedJws {
  readonly parts: { readonly protected: string; readonly signature: string };
  readonly header: Readonly<Record<string, unknown>>;
}

function readDetached(text: string): DetachedJws | undefined {
  const [, encoded = '', signature = ''] = /^([\w-]+)\.\.([\w-]+)$/.exec(text) ?? [];
  // Attack: another text of the same bytes.
  if (![encoded, signature].every((part) => Buffer.from(part, 'base64url').toString('base64url') === part))
    return undefined;
  try {
    const header: unknown = JSON.parse(Buffer.from(encoded, 'base64url').toString());
    if (typeof header !== 'object' || header === null) return undefined;
    return { parts: { protected: encoded, signature }, header: header as DetachedJws['header'] };
  } catch {
    return undefined;
  }
}

/** Attack: a signed value sent once more under another id, as another type, or on another topic. */
function checkClaims(
  header: Readonly<Record<string, unknown>>,
  { id, type, audience }: Pick<Envelope, 'id' | 'type'> & { readonly audience: string },
): string | undefined {
  if (header['ce_id'] !== id) return 'the signature is for another ce_id';
  if (header['ce_type'] !== type) return 'the signature is for another ce_type';
  if (header['aud'] === undefined) return `the signature has no aud; it must be "${audience}"`;
  if (header['aud'] !== audience) return `the signature is for another aud; here it must be "${audience}"`;
  return typeof header['iat'] === 'number' ? undefined : 'the signature has no iat';
}

/** Attack: a signed value sent once more long after. */
function checkTime(iat: unknown, key: RequestKey, now: number, { ageMsMax, aheadMsMax }: SignatureWindow): Verified {
  const signedAt = Number(iat) * 1000;
  if (signedAt > now + aheadMsMax) return unverified('the signature is from the future: compare the clocks');
  if (signedAt < now - ageMsMax) return { status: 'late', key, why: 'the signature is too old' };
  return { status: 'verified', key };
}
