import { FlattenedSign } from 'jose';
import type { CryptoKey, KeyObject } from 'jose';

/** The signing key of a request. */
export interface RequestSigning {
  readonly kid: string;
  readonly alg: 'EdDSA' | 'ES256';
  readonly privateKey: CryptoKey | KeyObject;
}

/** The signature of a request, as its header carries it. `iat` in seconds since the epoch, `aud` as tenant/topic. */
export async function signRequest(
  value: string | Uint8Array,
  claims: { readonly ce_id: string; readonly ce_type: string; readonly iat: number; readonly aud: string },
  { kid, alg, privateKey }: RequestSigning,
): Promise<string> {
  const signed = await new FlattenedSign(Buffer.from(value))
    .setProtectedHeader({ alg, kid, ...claims })
    .sign(privateKey);
  return `${signed.protected ?? ''}..${signed.signature}`;
}
