import type { Actor } from '@countersign/commands';
import { assuranceOf } from '../tokens.js';
import type { BearerVia } from '../tokens.js';
import type { Oidc } from './oidc.js';
import type { VerifiedToken } from './oidc-access-tokens.js';
import { actorFor } from './person.js';

/** Returns the actor of an access token, or why there is none. */
export async function proveByOidc(
  oidc: Oidc,
  token: string,
  via: BearerVia,
): Promise<Actor | Exclude<VerifiedToken, { readonly status: 'valid' }>> {
  const verified = await oidc.verify(token);
  if (verified.status !== 'valid') return verified;
  const expiresAt = new Date(verified.expiresAtMs).toISOString();
  return { ...actorFor(verified.person), via, assurance: assuranceOf(via), expiresAt };
}
