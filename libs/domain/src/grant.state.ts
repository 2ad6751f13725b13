import type { GrantTerms, GrantViewState } from '@countersign/contracts';
import { hasCome } from './time.js';

/** A standing grant after the events of its stream. */
export interface Grant {
  readonly status: 'pending' | 'active' | 'revoked';
  readonly terms: GrantTerms;
  readonly confirmed: { readonly by: string; readonly at: string } | null;
  readonly revoked: { readonly by: string; readonly at: string; readonly reason: string | null } | null;
  /** The number of uses. */
  readonly uses: number;
  /** The calls that hold a use, the oldest first. */
  readonly callIds: readonly string[];
  readonly lastUsedAt: string | null;
}

export type GrantState = { readonly status: 'unknown' } | Grant;

/** The uses of a grant that names no number of them. */
export const grantUsesMax = 10_000;

/** Returns whether every use is taken. */
export function isExhausted({ terms, uses }: Pick<Grant, 'terms' | 'uses'>): boolean {
  return uses >= Math.min(terms.maxUses ?? grantUsesMax, grantUsesMax);
}

/** The state of a grant at a moment (epoch milliseconds), as people see it. */
export function grantStateAt(grant: Grant, atMs: number): GrantViewState {
  if (grant.status === 'revoked') return 'revoked';
  if (isExhausted(grant)) return 'exhausted';
  return hasCome(grant.terms.expiresAt, atMs) ? 'expired' : grant.status;
}

/**
 * Returns whether a call may be covered because it holds a use of this grant. A revoked or expired grant covers no call,
 * not even one that took its use before.
 */
export function holdsUse(state: GrantState, callId: string, atMs: number): boolean {
  return state.status === 'active' && !hasCome(state.terms.expiresAt, atMs) && state.callIds.includes(callId);
}
