import { confirmGrant, createGrant, noSuchGrant, revokeGrant } from '@countersign/commands';
import type { Actor } from '@countersign/commands';
import type { CreateGrantBody, GrantView, ListGrantsQuery, RevokeGrantBody } from '@countersign/contracts';
import { grantStateAt } from '@countersign/domain';
import type { Grant } from '@countersign/domain';
import { ok, refused } from './answer.js';
import type { Answer } from './answer.js';
import { conclude } from './conclude.js';
import type { WriteContext } from './conclude.js';
import { previewGrant } from './grant-preview.js';
import type { GatewayPorts } from './ports.js';
import { invalidRequest } from './validation.js';

/** The standing grants: list, read, preview, create, confirm, revoke. */
export interface Grants {
  readonly list: (actor: Actor, query: ListGrantsQuery) => Answer;
  readonly get: (actor: Actor, grantId: string) => Answer;
  readonly preview: (actor: Actor, body: CreateGrantBody) => Promise<Answer>;
  readonly create: (context: WriteContext, body: CreateGrantBody) => Promise<Answer>;
  readonly confirm: (context: WriteContext, grantId: string) => Promise<Answer>;
  readonly revoke: (context: WriteContext, grantId: string, body: RevokeGrantBody) => Promise<Answer>;
}

/** The grants side of the gateway. */
export function createGrants(ports: GatewayPorts): Grants {
  const { commands, readModel, clock } = ports;
  const view = (grant: Grant): GrantView => toGrantView(grant, clock.now());
  return {
    list: ({ tenant }, query) => {
      const page = readModel.grants.list(tenant, query, clock.now());
      if (page.status === 'invalid-cursor') {
        throw invalidRequest([{ path: 'cursor', message: 'is not the nextCursor of a page of this list' }]);
      }
      const { grants, nextCursor, position } = page;
      return ok({ grants: grants.map(view), nextCursor, position });
    },
    get: ({ tenant }, grantId) => {
      const grant = readModel.grants.find(tenant, grantId);
      return grant === undefined ? refused(noSuchGrant(grantId).refusal) : ok(view(grant));
    },
    preview: (actor, body) => previewGrant(ports, actor, body),
    create: async ({ actor, commandId }, body) => {
      const outcome = await createGrant(commands, actor, body, commandId);
      return conclude(ports, 'CreateGrant', outcome, view, () => 201);
    },
    confirm: async ({ actor, commandId }, grantId) => {
      const outcome = await confirmGrant(commands, actor, grantId, commandId);
      return conclude(ports, 'ConfirmGrant', outcome, view);
    },
    revoke: async ({ actor, commandId }, grantId, body) => {
      const outcome = await revokeGrant(commands, actor, { grantId, ...body }, commandId);
      return conclude(ports, 'RevokeGrant', outcome, view);
    },
  };
}

const lastCallIdsMax = 20;

function scopeOf({ terms }: Grant): Pick<GrantView, 'runId' | 'agentId' | 'requestedBy' | 'labels'> {
  const { runId, agentId, requestedBy = null, labels = null } = terms;
  return { runId, agentId, requestedBy, labels };
}

function revocationOf({ revoked }: Grant): Pick<GrantView, 'revokedBy' | 'revokedAt' | 'revokeReason'> {
  const { by = null, at = null, reason = null } = revoked ?? {};
  return { revokedBy: by, revokedAt: at, revokeReason: reason };
}

/** A grant as people see it. A digest stays salted, and its salt is left out. */
export function toGrantView(grant: Grant, atMs: number): GrantView {
  const { terms, confirmed, uses, callIds, lastUsedAt } = grant;
  const { grantId, toolName, reason, risk, approvalId, createdBy, createdAt, expiresAt, maxUses } = terms;
  return {
    ...{ grantId, toolName, match: 'digest' in terms.match ? { digest: terms.match.digest } : terms.match },
    ...scopeOf(grant),
    ...{ reason, risk, approvalId, createdBy, createdAt },
    ...{ confirmedBy: confirmed?.by ?? null, confirmedAt: confirmed?.at ?? null },
    ...{ expiresAt, maxUses, uses, lastUsedAt, lastCallIds: callIds.slice(-lastCallIdsMax).reverse() },
    state: grantStateAt(grant, atMs),
    ...revocationOf(grant),
  };
}
