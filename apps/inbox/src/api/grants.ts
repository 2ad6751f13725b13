import type { CreateGrantBody, GrantPreview, GrantView } from '@countersign/contracts';
import { send } from './http.js';

/** The events of standing grants. */
export const grantTypes = ['GrantProposed', 'GrantCreated', 'GrantConfirmed', 'GrantUsed', 'GrantRevoked'] as const;

const grantPath = (grantId: string) => `/v1/grants/${encodeURIComponent(grantId)}`;

/** Standing grants, the newest first. */
export const listGrants = (
  cursor: string | null,
  signal?: AbortSignal,
): Promise<{ readonly grants: readonly GrantView[]; readonly nextCursor: string | null }> => {
  const query = new URLSearchParams({ limit: '100', ...(cursor !== null && { cursor }) });
  return send('GET', `/v1/grants?${query.toString()}`, { signal });
};

/** Returns the recorded approvals that the grant would have covered. Creates nothing. */
export const previewGrant = (body: CreateGrantBody): Promise<GrantPreview> =>
  send('POST', '/v1/grants?dryRun=true', { body });

/** Creates a grant. Above the risk tier it waits for a second person. */
export const createGrant = (body: CreateGrantBody): Promise<GrantView> => send('POST', '/v1/grants', { body });

/** Confirms another person's pending grant. */
export const confirmGrant = (grantId: string): Promise<GrantView> => send('POST', `${grantPath(grantId)}/confirm`);

/** Revokes a grant: no call that is requested after the answer is covered. */
export const revokeGrant = (grantId: string): Promise<GrantView> => send('DELETE', grantPath(grantId));
