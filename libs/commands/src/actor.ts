import { matchesGlob } from '@countersign/contracts';
import type { Assurance } from '@countersign/contracts';
import type { Reach } from '@countersign/domain';

export const roles = ['agent', 'approver', 'resolver', 'auditor', 'admin'] as const;

/** What a principal may do. Deny by default: no role, no rights. */
export type Role = (typeof roles)[number];

/** Who acts, as the edge proved them; never taken from a message. */
export interface Actor {
  readonly tenant: string;
  readonly principal: string;
  readonly roles: ReadonlySet<Role>;
  readonly groups: readonly string[];
  /** Globs of the agentIds that it may speak for besides its own principal. */
  readonly agentIds: readonly string[];
  /** How the answer came: `inbox`, `api`, `cli`, or a channel's id. */
  readonly via: string;
  readonly assurance: Assurance;
}

/** Whether the actor may request calls in the name of this agent: its own principal, or one that its globs match. */
export function speaksFor(actor: Actor, agentId: string): boolean {
  return agentId === actor.principal || actor.agentIds.some((glob) => matchesGlob(glob, agentId));
}

/** Whose calls the actor may ask about, describe, cancel and submit the output of. */
export function reachOf(actor: Actor): Reach {
  return actor.roles.has('admin') ? 'any' : 'own';
}
