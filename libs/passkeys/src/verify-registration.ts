import { verifyRegistrationResponse } from '@simplewebauthn/server';
import { cose, decodeCredentialPublicKey } from '@simplewebauthn/server/helpers';
import type { RelyingParty } from './relying-party.js';

/** The algorithms that a passkey may have: ES256, EdDSA and RS256. */
export const algorithms = [-7, -8, -257] as const;

/** What a browser returns of a new passkey. All texts are base64url. */
export interface Registration {
  readonly credentialId: string;
  readonly clientDataJSON: string;
  readonly attestationObject: string;
}

/** A new passkey, or why it cannot be registered. */
export type Registered =
  | {
      readonly status: 'verified';
      readonly credentialId: string;
      /** The COSE key, base64url. */
      readonly publicKey: string;
      readonly algorithm: (typeof algorithms)[number];
      readonly signCount: number;
    }
  | { readonly status: 'refused'; readonly why: string };

/**
 * Verifies the registration of a passkey: the challenge, the origin, the domain, that the authenticator verified its user,
 * and that the key has an algorithm that is supported. Who made the authenticator is not asked.
 */
export async function verifyRegistration(
  { credentialId: id, clientDataJSON, attestationObject }: Registration,
  challenge: string,
  { rpId, origin }: RelyingParty,
): Promise<Registered> {
  try {
    const { verified, registrationInfo } = await verifyRegistrationResponse({
      response: {
        ...{ id, rawId: id, type: 'public-key', clientExtensionResults: {} },
        response: { clientDataJSON, attestationObject },
      },
      expectedChallenge: challenge,
      expectedOrigin: origin,
      expectedRPID: rpId,
      requireUserVerification: true,
      supportedAlgorithmIDs: [...algorithms],
    });
    if (!verified) return refused('it cannot be verified');
    const { credential } = registrationInfo;
    const algorithm = algorithmOf(credential.publicKey);
    if (credential.id !== id) return refused('it is of another passkey');
    if (algorithm === undefined) return refused('its key has an algorithm that is not supported');
    return {
      status: 'verified',
      credentialId: credential.id,
      publicKey: Buffer.from(credential.publicKey).toString('base64url'),
      algorithm,
      signCount: credential.counter,
    };
  } catch (error) {
    return refused(error instanceof Error ? error.message : 'it cannot be read');
  }
}

function algorithmOf(publicKey: Uint8Array): (typeof algorithms)[number] | undefined {
  const algorithm: unknown = decodeCredentialPublicKey(Uint8Array.from(publicKey)).get(cose.COSEKEYS.alg);
  return algorithms.find((one) => one === algorithm);
}

function refused(why: string): Registered {
  return { status: 'refused', why };
}
