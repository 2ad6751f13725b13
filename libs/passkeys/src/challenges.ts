import { hash } from 'node:crypto';
import { canonicalJson } from '@countersign/contracts';
import type { Decision, JsonValue } from '@countersign/contracts';

/** All that a person signs with an answer. */
export interface SignedAnswer {
  readonly proposalDigest: string;
  /** The digest of the card that was shown. */
  readonly displayDigest: string;
  readonly decision: Decision;
  readonly instruction: string | null;
  readonly nonce: string;
}

/** The challenge of an answer: base64url of the SHA-256 over the RFC 8785 form of what is signed. */
export function answerChallenge(signed: SignedAnswer): string {
  const { proposalDigest, displayDigest, decision, instruction, nonce } = signed;
  return challengeOf({ proposalDigest, displayDigest, decision, instruction, nonce });
}

/** The challenge of a registration. Attack: a passkey that one person made is registered for another. */
export function registrationChallenge(of: {
  readonly tenant: string;
  readonly principal: string;
  readonly rpId: string;
  readonly nonce: string;
}): string {
  const { tenant, principal, rpId, nonce } = of;
  return challengeOf({ registers: { tenant, principal, rpId }, nonce });
}

/** The challenge with which a person confirms a passkey that waits. */
export function confirmationChallenge(of: {
  readonly tenant: string;
  readonly principal: string;
  readonly credentialId: string;
  readonly publicKey: string;
  readonly nonce: string;
}): string {
  const { tenant, principal, credentialId, publicKey, nonce } = of;
  return challengeOf({ confirms: { tenant, principal, credentialId, publicKey }, nonce });
}

function challengeOf(signed: JsonValue): string {
  return hash('sha256', canonicalJson(signed), 'base64url');
}
