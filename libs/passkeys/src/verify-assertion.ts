import { verifyAuthenticationResponse } from '@simplewebauthn/server';
import type { PasskeyAssertion } from '@countersign/contracts';
import { bytesOf } from './base64url.js';

/** The passkey that is said to have signed. */
export interface SigningKey {
  readonly credentialId: string;
  /** The COSE key, base64url. */
  readonly publicKey: string;
  readonly rpId: string;
  readonly origin: string;
  /** The highest counter that is known; an authenticator that counts has a higher one now. */
  readonly signCount: number;
}

/** The counter of an assertion that holds, or why it does not. */
export type Verified =
  { readonly status: 'verified'; readonly signCount: number } | { readonly status: 'refused'; readonly why: string };

/**
 * Verifies an assertion: the challenge, the origin, the domain, that the authenticator verified its user, its counter, and
 * the signature with the registered key.
 */
export async function verifyAssertion(
  { credentialId, authenticatorData, clientDataJSON, signature }: PasskeyAssertion,
  challenge: string,
  key: SigningKey,
): Promise<Verified> {
  const publicKey = bytesOf(key.publicKey);
  const isWritten = [credentialId, authenticatorData, clientDataJSON, signature].every(
    (text) => bytesOf(text) !== undefined,
  );
  if (publicKey === undefined || !isWritten) return refused('it is not base64url');
  if (credentialId !== key.credentialId) return refused('it is of another passkey');
  if (isOfOtherSite(clientDataJSON)) return refused('a page of another site asked for it');
  try {
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: {
        ...{ id: credentialId, rawId: credentialId, type: 'public-key', clientExtensionResults: {} },
        response: { authenticatorData, clientDataJSON, signature },
      },
      expectedChallenge: challenge,
      expectedOrigin: key.origin,
      expectedRPID: key.rpId,
      requireUserVerification: true,
      credential: { id: key.credentialId, publicKey, counter: key.signCount },
    });
    return verified
      ? { status: 'verified', signCount: authenticationInfo.newCounter }
      : refused('the passkey did not sign this');
  } catch (error) {
    return refused(error instanceof Error ? error.message : 'it cannot be read');
  }
}

/** The library accepts an assertion inside a frame of another site where the browser does not name that site. */
function isOfOtherSite(clientDataJSON: string): boolean {
  try {
    const { crossOrigin } = JSON.parse(Buffer.from(clientDataJSON, 'base64url').toString()) as {
      readonly crossOrigin?: unknown;
    };
    return crossOrigin === true;
  } catch {
    return true;
  }
}

function refused(why: string): Verified {
  return { status: 'refused', why };
}
